"""A stand-in for ``huggingface_hub.HfApi`` that records its calls and keeps the files that it is given."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any


class Recorder:
    """`calls` are (method, arguments); a method in `fails` raises; `files` are the repositories' by name and path."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.fails: dict[str, Exception] = {}
        self.files: dict[str, dict[str, bytes]] = {}

    def _note(self, method: str, **arguments: Any) -> None:
        self.calls.append((method, arguments))
        if method in self.fails:
            raise self.fails[method]

    def whoami(self) -> dict[str, str]:
        self._note("whoami")
        return {"name": "ann"}

    def list_repo_files(self, repo_id: str, **options: Any) -> list[str]:
        from huggingface_hub.errors import RepositoryNotFoundError

        self._note("list_repo_files", repo_id=repo_id, **options)
        if repo_id not in self.files:
            raise RepositoryNotFoundError("none", response=SimpleNamespace(status_code=404, headers={}, request=None))
        return list(self.files[repo_id])

    def create_repo(self, repo_id: str, **options: Any) -> None:
        self._note("create_repo", repo_id=repo_id, **options)

    def upload_folder(self, repo_id: str, folder_path: Path, create_pr: bool = False, **options: Any) -> Any:
        self._note("upload_folder", repo_id=repo_id, create_pr=create_pr, **options)
        paths = [path for path in Path(folder_path).rglob("*") if path.is_file()]
        self.files[repo_id] = {str(path.relative_to(folder_path)): path.read_bytes() for path in paths}
        address = f"https://hub/{repo_id}"
        return SimpleNamespace(
            commit_url=f"{address}/commit/1", pr_url=f"{address}/discussions/1" if create_pr else None
        )
