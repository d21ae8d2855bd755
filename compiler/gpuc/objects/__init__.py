"""Objects as they are read: sets of them, what they name, and what is wrong at a path of one."""
