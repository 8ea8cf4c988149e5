"""Manifests and declarations: each error names line and field, and nothing is handed on."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from core.errors import InvalidInput, NotFound
from core.metadata import check_declaration
from core.types import Collection, FieldSpec
from ingest.manifest import read_declaration, read_manifest

ADMISSIONS = check_declaration(
    Collection(
        name="admissions",
        fields=(
            FieldSpec(name="country", required=True, allowed=("Spain", "Peru")),
            FieldSpec(name="degree", many=True),
            FieldSpec(name="intake", type="number"),
            FieldSpec(name="opens", type="date"),
            FieldSpec(name="open", type="boolean"),
        ),
    )
)
KNOWN = (Collection(name="default"), ADMISSIONS)
GOOD = {"path": "a.md", "collection": "admissions", "country": "Spain"}


def written(folder: Path, *lines: object) -> Path:
    for name in ("a.md", "b.md", "deep/c.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n\nIt is about {name} alone.\n")
    (folder / "picture.png").write_bytes(b"x")
    file = folder / "manifest.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n", "utf-8")
    return file


def test_a_manifest_says_all_there_is_to_say(tmp_path: Path) -> None:
    rich = GOOD | {
        "title": "Fees",
        "tags": ["new", " fees ", "new"],
        "language": "EN",
        "published_at": "2024-02-29",
        "valid_until": "2025-01-01",
        "degree": ["master", "bachelor"],
        "intake": 2026,
        "opens": "2025-10-01",
        "open": True,
    }
    first, second = read_manifest(written(tmp_path, rich, "", {"path": "./deep/../deep/c.md"}), KNOWN)
    said = first.metadata
    assert (first.path, said.title, said.tags, said.language) == (tmp_path / "a.md", "Fees", ("new", "fees"), "en")
    assert (said.published_at, said.valid_until) == (date(2024, 2, 29), date(2025, 1, 1))
    degrees = ("master", "bachelor")
    assert said.fields == {"country": "Spain", "degree": degrees, "intake": 2026, "opens": "2025-10-01", "open": True}
    assert second.path == tmp_path / "deep" / "c.md" and second.metadata.collection == "default"
    assert "tags" in second.metadata.model_fields_set and "title" not in second.metadata.model_fields_set


BAD = [
    ({"contry": "Spain"}, "unknown field 'contry'; collection admissions has country, degree, intake, opens, open"),
    ({"country": None}, "field 'country' is missing"),
    ({"country": "Chile"}, "field 'country': 'Chile' is not allowed; allowed: Spain, Peru"),
    ({"country": 3}, "field 'country': 3"),
    ({"country": ["Spain"]}, "field 'country': a list"),
    ({"intake": "2026"}, "field 'intake': '2026' is not a number"),
    ({"intake": True}, "field 'intake': True is not a number"),
    ({"open": "true"}, "field 'open': 'true' is not true or false"),
    ({"opens": "2024-02-30"}, "field 'opens': '2024-02-30' is not a day"),
    ({"degree": {"a": 1}}, "fields.degree"),
    ({"published_at": "2024-13-01"}, "published_at: there is no day '2024-13-01'"),
    ({"published_at": "1 May 2024"}, "published_at: '1 May 2024' is no day"),
    ({"published_at": 2024}, "published_at: 2024 is no day"),
    ({"published_at": "2024-05-01T10:00:00"}, "published_at: "),
    ({"valid_until": ""}, "valid_until: '' is no day"),
    ({"published_at": "2024-05-02", "valid_until": "2024-05-01"}, "valid_until 2024-05-01 is before published_at"),
    ({"language": "English!"}, "language: "),
    ({"tags": "new"}, "tags: "),
    ({"tags": [" "]}, "tags: a tag has 1 to 100 characters"),
    ({"collection": "admission"}, "there is no collection 'admission'; known: default, admissions"),
    ({"path": "none.md"}, "path: there is no file 'none.md'"),
    ({"path": "../x.md"}, "path: '../x.md' leaves the manifest's folder"),
    ({"path": "/etc/passwd"}, "path: '/etc/passwd' leaves the manifest's folder"),
    ({"path": "deep"}, "path: 'deep' is no PDF"),
    ({"path": "picture.png"}, "path: 'picture.png' is no PDF"),
    ({"path": 7}, "path: 7 is no path"),
    ({"path": "./b.md"}, "path 'b.md' stands on line 1 already"),
    ({"path": "deep/../b.md"}, "path 'b.md' stands on line 1 already"),
]


@pytest.mark.parametrize(("changes", "says"), BAD)
def test_each_error_names_line_and_field(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    file = written(tmp_path, {"path": "b.md"}, "", GOOD | changes)
    with pytest.raises(InvalidInput) as caught:
        read_manifest(file, KNOWN)
    assert caught.value.message.startswith(f"line 3: {says}") and "nothing was added" in caught.value.hint


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "no JSON"),
        ("[1]", "no JSON object"),
        ('{"path": "a.md", "path": "b.md"}', "'path' stands twice"),
        ('{"path": "a.md", "collection": "admissions", "country": "Spain", "intake": NaN}', "NaN is no number"),
        ('{"title": "a"}', "path is missing"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_lines_that_are_no_objects(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"^line 1: {says}"):
        read_manifest(written(tmp_path, line), KNOWN)


def test_all_errors_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_manifest(written(tmp_path, *[{"path": f"none{n}.md"} for n in range(25)]), KNOWN)
    lines = caught.value.message.splitlines()
    assert lines[0].startswith("line 1:") and lines[-1] == "… and 5 more" and len(lines) == 21


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    file = written(tmp_path / "papers", {"path": "link.md"})
    (tmp_path / "papers" / "link.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(InvalidInput, match="leaves"):
        read_manifest(file, KNOWN)


def test_no_manifest_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_manifest(tmp_path / "none.jsonl", KNOWN)
    with pytest.raises(InvalidInput, match="names no document"):
        read_manifest(written(tmp_path, ""), KNOWN)
    (tmp_path / "latin.jsonl").write_bytes(b"\xff")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        read_manifest(tmp_path / "latin.jsonl", KNOWN)


def test_a_declaration_in_toml_and_in_json(tmp_path: Path) -> None:
    toml, as_json = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text(
        'title = "A"\nreview_undated = true\n[fields.intake]\ntype = "number"\nallowed = ["2026.0", "2027"]\n'
    )
    fields = [{"name": "intake", "type": "number", "allowed": ["2026", "2027"]}]
    as_json.write_text(json.dumps({"title": "A", "review_undated": True, "fields": fields}))
    assert read_declaration("a", toml) == read_declaration("a", as_json)
    assert read_declaration("a", toml).fields[0].allowed == ("2026", "2027")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"fields": {"tags": {}}}', "'tags' is a name that every document has"),
        ('{"fields": {"a b": {}}}', "no name for a field"),
        ('{"fields": [{"name": "a"}, {"name": "a"}]}', "declared twice"),
        ('{"fields": {"a": {"type": "colour"}}}', "type"),
        ('{"fields": {"a": {"type": "number", "allowed": ["x"]}}}', "'x' is not a number"),
        ('{"fields": {"a": {"type": "boolean", "allowed": ["true"]}}}', "boolean"),
        ('{"field": {}}', "field"),
        ("[]", "holds no table"),
        ("{", "can't be read"),
    ],
)
def test_bad_declarations(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=says):
        read_declaration("a", file)


@pytest.mark.parametrize("name", ["", "a b", "../a", "x" * 65])
def test_bad_names_of_collections(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.json"
    file.write_text("{}")
    with pytest.raises(InvalidInput, match="no name for a collection"):
        read_declaration(name, file)
