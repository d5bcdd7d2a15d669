"""Pages of the site that are made when it is built, and links that leave docs/ turned into links inside the site.

MkDocs calls these functions (see `hooks` in mkdocs.yml). A room of the source becomes one reference page, an example
becomes a page that shows its code, and CONTRIBUTING.md and CHANGELOG.md become pages as they are.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "oddshift"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)

COPIED = ("CONTRIBUTING.md", "CHANGELOG.md")
"""Pages of the project's own folder that the site shows too."""


LISTED = {"decisions": "Decisions", "studies": "Studies"}
"""Folders of docs/ that get a page of contents, so that adding a page there needs no other change."""


def on_config(config: Any) -> Any:
    """Fill the navigation in where it names a folder."""
    for item in config.nav:
        for title, target in item.items():
            if isinstance(target, str) and target.endswith("/"):
                item[title] = [f"{target}README.md", *(f"{target}{page.name}" for page in listed(target))]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from the source, the examples and the project's own folder."""
    made = {f"reference/{room}.md": reference(room) for room in rooms()}
    for example in sorted((ROOT / "examples").glob("*.py")):
        made[f"examples/{example.stem}.md"] = (
            f"# {example.name}\n\n```python\n{example.read_text(encoding='utf-8')}```\n"
        )
    for folder, title in LISTED.items():
        lines = [f"- [{heading(page)}]({page.name})" for page in listed(folder)]
        made[f"{folder}/README.md"] = "\n".join([f"# {title}", "", *lines]) + "\n"
    for name in COPIED:
        made[name] = moved((ROOT / name).read_text(encoding="utf-8"))
    for uri, content in made.items():
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turn links that leave docs/ into links inside the site, or into plain words where the site has no such page."""
    return rewritten(markdown, PurePosixPath(page.file.src_uri).parent)


def listed(folder: str) -> list[Path]:
    """The pages of a folder of docs/, in order."""
    return sorted((ROOT / "docs" / folder).glob("*.md"))


def heading(page: Path) -> str:
    """The title of a page."""
    return page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def rooms() -> list[str]:
    """The packages directly below oddshift."""
    return sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def reference(room: str) -> str:
    """One page of reference: what the room is, then each of its modules with its public names."""
    files = [path for path in sorted((SOURCE / room).rglob("*.py")) if path != SOURCE / room / "__init__.py"]
    parts = [f"# {room}", entry(f"oddshift.{room}", "members: false")]
    for path in files:
        name = module_of(path)
        only = (
            "members: false" if path.name == "__init__.py" else ""
        )  # what it imports is described where it is defined
        parts.append(f"## {name.removeprefix(f'oddshift.{room}.')} {{ #{anchor(name)} }}\n\n{entry(name, only)}")
    return "\n\n".join(parts) + "\n"


def entry(name: str, only: str = "") -> str:
    """What mkdocstrings replaces by a module; the heading is our own, so that a link to a file can name it."""
    options = ", ".join(filter(None, ("show_root_heading: false, show_root_toc_entry: false", only)))
    return f"::: {name}\n    options: {{{options}}}"


def module_of(path: Path) -> str:
    """The dotted name of a file; that of a package for its `__init__`."""
    parts = ("oddshift", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def anchor(module: str) -> str:
    """How a module is called in an address."""
    return f"module-{module.removeprefix('oddshift.').replace('.', '-')}"


def rewritten(markdown: str, folder: PurePosixPath) -> str:
    """The same page with every relative link that leaves docs/ replaced; code blocks stay as they are."""

    def replaced(match: re.Match[str]) -> str:
        bang, text, target = match.groups()
        if bang or "://" in target or target.startswith(("#", "mailto:")):
            return match.group(0)
        inside = landing(posixpath.normpath(posixpath.join("docs", folder, target)))
        if inside is None:
            return match.group(0)
        return f"[{text}]({posixpath.relpath(inside, str(folder))})" if inside else text

    pieces = FENCE.split(markdown)
    return "".join(piece if piece.startswith("```") else LINK.sub(replaced, piece) for piece in pieces)


def landing(path: str) -> str | None:
    """Where a path of the project is found in the site: a page, "" for nowhere, None if the link is right as it is."""
    if path.startswith("docs/"):
        folder = path.removeprefix("docs/")
        return f"{folder}/README.md" if folder in LISTED else None
    plain = path.partition("#")[0]
    if plain in COPIED:
        return path
    if plain == "README.md":
        return "README.md"
    parts = PurePosixPath(plain).parts
    if parts[0] == "examples" and plain.endswith(".py"):
        return f"examples/{parts[-1].removesuffix('.py')}.md"
    if parts[:2] == ("src", "oddshift") and len(parts) > 2 and (SOURCE / parts[2]).is_dir():
        module = module_of(ROOT / plain)
        return f"reference/{parts[2]}.md" + (f"#{anchor(module)}" if module.count(".") > 1 else "")
    return ""


def moved(markdown: str) -> str:
    """A page of the project's own folder as it reads from inside docs/."""
    return LINK.sub(
        lambda m: m.group(0) if "://" in m.group(3) else f"[{m.group(2)}]({_from_docs(m.group(3))})", markdown
    )


def _from_docs(target: str) -> str:
    return target.removeprefix("docs/") if target.startswith("docs/") else f"../{target}"
