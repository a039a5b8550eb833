"""What people see of a course in a real browser: JupyterLab's Validate, formgrader, feedback.

Needs Debian's chromium. With SCREENSHOTS=FOLDER in the environment, pictures are left there.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.nbgrader_course import NAME, Course, marked, solved

pytestmark = pytest.mark.system

ATTACKS = """
print("<script>document.title = 'taken over'</script>")
print("<img src=x onerror=\\"document.title = 'taken over'\\">")
"""
WAIT = 120_000  # milliseconds


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which one student is right and one prints what would run in a page."""
    course = Course(tmp_path_factory.mktemp("browser"))
    course.nbgrader("generate_assignment", NAME)
    course.submit("right", solved(course))
    notebook = solved(course)
    cell = marked(notebook, "curvature")
    cell.source = cell.source.replace("return 2 * ", "return ") + ATTACKS
    course.submit("attacker", notebook)
    for student in ("right", "attacker"):  # a student has the whole release in a folder
        shutil.copy(course.folder / "release" / NAME / "lesson.py", course.place(student))
    course.nbgrader("autograde", NAME)
    course.nbgrader("generate_feedback", NAME)
    return course


@pytest.fixture(scope="module")
def page():
    """A page of a browser that reaches this machine alone."""
    with sync_playwright() as playwright:
        flags = [
            "--no-sandbox",
            "--disable-gpu",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ]
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(WAIT)
        yield page
        browser.close()


@pytest.fixture(scope="module")
def lab(course):
    """The address of a JupyterLab in the course's folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser"]
    command += [f"--port={port}", "--ip=127.0.0.1", "--IdentityProvider.token="]
    command += [f"--ServerApp.root_dir={course.folder}"]
    with (course.folder.parent / "lab.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=course.folder, env=course.environment, stdout=log, stderr=log
        )
        try:
            for _ in range(WAIT // 500):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.5)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def look(page: Page, name: str) -> None:
    """Leave a picture, where someone wants to look."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def test_feedback_shows_the_table_and_what_the_student_printed_runs_nothing(course, page):
    place = course.folder / "feedback" / "attacker" / NAME / f"{NAME}.html"
    page.goto(place.as_uri())
    expect(page).to_have_title(NAME)
    body = page.locator("body")
    expect(body).to_contain_text("taken over")  # as text
    expect(body).to_contain_text("curvature: curvature gives the worked examples")
    expect(body).to_contain_text("forgot_factor_two")
    look(page, "feedback")


def test_formgrader_shows_the_scores_and_the_table(lab, page):
    page.goto(f"{lab}/formgrader/manage_submissions/{NAME}")
    page.get_by_text("attacker").wait_for()
    expect(page.locator("tr", has_text="attacker")).to_contain_text("graded")
    expect(page.locator("tr", has_text="right")).to_contain_text("10 / 10")
    look(page, "submissions")
    page.goto(f"{lab}/formgrader/gradebook/{NAME}/{NAME}")
    page.get_by_text("10 / 10").first.wait_for()
    look(page, "gradebook")
    page.locator("a[href*='/formgrader/submissions/']").first.click()
    page.wait_for_url("**/formgrader/submissions/**")
    expect(page.locator("body")).to_contain_text("points")
    expect(page.locator("body")).to_contain_text(f"check_{NAME}")
    assert "taken over" not in page.title()
    look(page, "submission")


def outcomes(table: str) -> dict[str, str]:
    """The outcome of each check in a table, by its title."""
    lines = [line for line in table.splitlines() if "/" in line]
    return {line.split("  ")[-1]: line.split()[0] for line in lines}


@pytest.mark.parametrize("student", ["right", "attacker"])
def test_validate_agrees_with_autograding_on_every_public_check(course, lab, page, student):
    page.goto(f"{lab}/lab/tree/submitted/{student}/{NAME}/{NAME}.ipynb?reset")
    page.locator("button:visible, jp-button:visible", has_text="Validate").first.click()
    said = page.locator("#validation-message")
    said.wait_for()
    look(page, f"validate_{student}")
    table = marked(course.checked(student), f"check_{NAME}").outputs[0].data["text/plain"]
    shown = said.inner_text()
    if student == "right":
        assert "Success! Your notebook passes all the tests." in shown
        return
    graded, validated = outcomes(table), outcomes(shown)
    public = validated.keys() & graded.keys()
    assert len(public) > 5
    assert {title: validated[title] for title in public} == {t: graded[t] for t in public}
    assert "WRONG" in {validated[title] for title in public}
