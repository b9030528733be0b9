"""What a wheel holds, by folder and size; refused where it holds tests, or data that are no sample."""

import re
import sys
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

CODE = {".py", ".yaml", ".csv", ".md", ".txt", ".html", ".css", ".js", ".jinja", ".typed"}

wheel = Path(sys.argv[1])
with zipfile.ZipFile(wheel) as archive:
    files = {PurePosixPath(one.filename): one.file_size for one in archive.infolist() if not one.is_dir()}
folders: Counter[str] = Counter()
for path, size in files.items():
    folders["/".join(path.parts[:-1][:3])] += size
for folder, size in sorted(folders.items()):
    print(f"{size / 1000:10,.1f} kB  {folder}")
packed = wheel.stat().st_size
print(f"{packed / 1000:10,.1f} kB  {wheel.name}, {len(files)} files, {sum(files.values()) / 1000:,.1f} kB unpacked")

package = [path for path in files if not path.parts[0].endswith(".dist-info")]
strange = [path for path in package if path.parts[0] != "quadrag" or "tests" in path.parts]
strange += [path for path in package if path.suffix not in CODE and "sample" not in path.parts]
cited = re.search(r"^version: (.+)$", Path("CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
if cited is None or cited[1] != wheel.name.split("-")[1]:
    sys.exit(f"CITATION.cff has the version {cited and cited[1]}, the wheel is {wheel.name}")
if strange:
    sys.exit(f"the wheel holds tests, or data that are no sample: {', '.join(map(str, strange))}")
