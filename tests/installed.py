"""A Python of its own that has the wheel installed, beside the dependencies of this one."""

import subprocess
import sysconfig
import venv
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from tests.sample_class import ROOT


def install_wheel(folder: Path) -> tuple[Path, Path]:
    """The interpreter, and the folder that the package lies in."""
    wheel = next(iter(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])))
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.startswith(("grader/keys", "grader/exact"))]
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    zipfile.ZipFile(wheel).extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python, site
