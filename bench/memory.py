"""How much memory this process has needed at most."""

import resource
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")


def peak_kib() -> int:
    """The high-water mark of the resident set.

    From /proc where it exists: ru_maxrss is the same number, but starts with that of the process that started us.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
