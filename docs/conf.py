"""How the site is built from the pages of the repository; `make docs` runs it.

The source folder is the root of the repository, so that pages stay where they are and the links between them are those that a plain
viewer of Markdown follows.
"""

from pygments.lexers.rust import RustLexer
from sphinx.highlighting import lexers

import unmissed

project = "unmissed"
author = copyright = "The unmissed maintainers"
version = release = unmissed.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/*.md",
    "docs/**/*.md",
    "docs/*.ipynb",
    "scripts/data/README.md",
]

# How rustdoc marks code that is compiled and not run.
lexers["rust,no_run"] = RustLexer()
# Links to headings of other pages.
myst_heading_anchors = 4
# The notebook is kept without results; they are made when the site is built, and again when the notebook changes.
nb_execution_mode = "cache"
nb_execution_cache_path = "target/docs-notebooks"
nb_execution_timeout = 1800
nb_execution_raise_on_error = True
nb_execution_show_tb = True

# Frameworks whose adapters are documented without being installed.
autodoc_mock_imports = ["ray", "torch", "torchmetrics", "transformers"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# Words of descriptions, such as labels, are also names of attributes.
suppress_warnings = ["ref.python"]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False

html_theme = "furo"
html_title = f"unmissed {release}"
html_copy_source = False
html_show_sourcelink = False
# Prompts are no part of a command.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
