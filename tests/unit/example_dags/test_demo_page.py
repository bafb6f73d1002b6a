"""The page that the demo leaves."""

from xml.etree import ElementTree as ET

from example_dags.demo.__main__ import CODE, ROOT
from example_dags.demo.page import Read, write_page
from example_dags.demo.progress import Step


def test_page_shows_ranges_verdicts_and_steps_as_they_were(tmp_path):
    found = {"version": 0, "path": "$.<x>", "rule": "required-narrowed", "remedy": "make x optional"}
    page = write_page(
        tmp_path,
        stream="examples/flights",
        length=4000,
        reads=[Read("Airflow", 0, 1000, 12, "5b8e9658a4c353ad" * 4), Read("Dagster", 1000, 4000, 36, "0" * 64)],
        verdicts=[{"summary": "it passed", "violations": []}, {"summary": "it did not", "violations": [found]}],
        numbers={"duplicates": "0"},
        steps=[Step("Airflow reads", 1.23, ["12 events"])],
        code=CODE,
    )
    text = page.read_text(encoding="utf-8")
    drawn = [line[line.index("<svg") : line.index("</svg>") + 6] for line in text.splitlines() if "<svg" in line]
    bars = [bar for each in drawn for bar in ET.fromstring(each).iter("rect")]
    assert [(bar.get("x"), bar.get("width")) for bar in bars] == [("0", "1000"), ("1000", "3000")]
    assert text.count('<td class="passed">') == text.count('<td class="refused">') == 1
    assert "version 0, <code>$.&lt;x&gt;</code>: required-narrowed; make x optional" in text
    assert "<li>12 events</li>" in text
    assert '<td class="number">1.2</td>' in text
    assert all(f'href="../../{path}"' in text and (ROOT / path).is_file() for path in CODE.values())
