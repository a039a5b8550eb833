"""What a student sees of a feedback page in a real browser. Needs Debian's chromium."""

import subprocess

import pytest

from tests.test_course import NAME, Course, marked, solved

ATTACKS = """
print("<script>document.title = 'taken over'</script>")
print("<img src=x onerror=\\"document.title = 'taken over'\\">")
"""
CHROMIUM = [
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000"),
]


@pytest.mark.system
def test_the_table_is_shown_and_what_the_student_printed_runs_nothing(tmp_path):
    course = Course(tmp_path)
    course.nbgrader("generate_assignment", NAME)
    notebook = solved(course)
    cell = marked(notebook, "curvature")
    cell.source = cell.source.replace("return 2 * ", "return ") + ATTACKS
    course.submit("someone", notebook)
    course.nbgrader("autograde", NAME)
    course.nbgrader("generate_feedback", NAME)
    page = course.folder / "feedback" / "someone" / NAME / f"{NAME}.html"
    shown = subprocess.run(
        [*CHROMIUM, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    title = shown.split("<title>")[1].split("</title>")[0]
    assert title.strip() == NAME
    assert "taken over" in shown  # as text
    assert "curvature: curvature gives the worked examples" in shown
    assert "forgot_factor_two" in shown
