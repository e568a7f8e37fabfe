"""Draw docs/figures/report.png: the report of the demo, as Chromium shows it.

python tools/shoot_report.py
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
SIZE = (1180, 1015)


def main() -> None:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={SIZE[0]},{SIZE[1]}"):
        options.add_argument(argument)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("tmsm")), "demo", "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            browser.get(Path(folder, "report.html").as_uri())
            WebDriverWait(browser, 60).until(lambda b: b.execute_script("return !!document.querySelector('.main-svg')"))
            browser.save_screenshot(str(PICTURE))
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
