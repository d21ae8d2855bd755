"""What a rehearsal knows about components: how their programs start, by the folder of the component."""
