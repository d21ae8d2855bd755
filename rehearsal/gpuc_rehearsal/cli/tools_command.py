"""The command `gpuc tools`: builds the programs of `gpuc rehearse`, lists the programs, or prints their folder."""

import signal

from gpuc.diagnostics.report.console import write_message, write_stderr, write_stdout
from gpuc_rehearsal.tools.build import build_programs, state_of
from gpuc_rehearsal.tools.selection import OTHERS, REHEARSAL, BuildError


def run_tools(selection: str = "", is_list: bool = False, where: bool = False) -> int:
    """Builds programs, lists the programs, or prints their folder. Returns exit code 1 if a program cannot be built.

    Args:
        selection: a key of OTHERS, for example "argocd"; empty for the programs of the control plane.

    Raises:
        KeyboardInterrupt: when the user stops the build.
    """
    programs = OTHERS.get(selection, REHEARSAL)
    if where:
        write_stdout(f"{programs.home()}\n")
        return 0
    try:
        for program in programs.programs if is_list else ():
            write_stdout(f"{program.name:24} {program.version():10} {state_of(program, programs.home())}\n")
        if not is_list:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            build_programs(programs)
    except KeyboardInterrupt:
        write_stdout("stopped; the next run continues with the missing programs\n")
        raise
    except OSError as error:
        if is_list:
            raise
        write_message(f"the programs cannot be written: {error}")
        return 1
    except BuildError as error:
        *details, reason = str(error).splitlines()
        write_stderr("".join(f"{line}\n" for line in details))
        write_message(reason)
        return 1
    return 0
