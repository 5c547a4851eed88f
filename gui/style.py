# SPDX-License-Identifier: Apache-2.0
"""The style sheet: margins, borders and focus frames, in the colours of a theme."""

from __future__ import annotations

from dataclasses import asdict

from gui.theme import Theme

_SHEET = """
QToolTip {{ color: {text}; background: {raised}; border: 1px solid {border};
    padding: 3px; }}
QPushButton {{ color: {text}; background: {raised}; border: 1px solid {border};
    border-radius: 4px; padding: 4px 12px; min-height: 1.2em; }}
QPushButton:hover {{ border-color: {accent}; }}
QPushButton:focus {{ border: 1px solid {accent}; }}
QPushButton:pressed {{ background: {border}; }}
QPushButton:disabled {{ color: {muted}; background: {window}; }}
QPushButton:checked {{ color: {accent_text}; background: {accent};
    border-color: {accent}; }}
QPushButton[role="primary"] {{ color: {accent_text}; background: {accent};
    border-color: {accent}; font-weight: 600; }}
QPushButton[role="primary"]:focus {{ border: 1px solid {text}; }}
QPushButton[role="primary"]:disabled {{ color: {muted}; background: {raised};
    border-color: {border}; }}
QPushButton[role="danger"] {{ color: {bad}; border-color: {bad}; font-weight: 600; }}
QPushButton[role="link"] {{ color: {accent}; background: transparent;
    border: 1px solid transparent;
    text-align: left; padding: 3px 6px; }}
QPushButton[role="link"]:hover, QPushButton[role="link"]:focus {{
    border-color: {accent}; }}
QLineEdit, QPlainTextEdit, QTextEdit {{
    color: {text}; background: {base}; border: 1px solid {border}; border-radius: 4px;
    padding: 3px 6px; selection-background-color: {accent};
    selection-color: {accent_text}; }}
QAbstractSpinBox QLineEdit, QComboBox QLineEdit {{ border: 0; padding: 0; }}
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus {{ border: 1px solid {accent}; }}
QLineEdit:disabled {{ color: {muted}; background: {window}; }}
QComboBox QAbstractItemView {{ color: {text}; background: {base};
    selection-background-color: {accent}; selection-color: {accent_text}; }}
QTableView, QTreeView, QListView {{ color: {text}; background: {base};
    alternate-background-color: {window}; border: 1px solid {border};
    gridline-color: {raised};
    selection-background-color: {accent}; selection-color: {accent_text}; }}
QTableView:focus, QTreeView:focus, QListView:focus {{ border: 1px solid {accent}; }}
QTableView::item {{ padding: 0 5px; }}
QHeaderView::section {{ color: {muted}; background: {window}; border: 0;
    border-bottom: 1px solid {border}; padding: 4px 6px; font-weight: 600; }}
QTableCornerButton::section {{ background: {window}; border: 0; }}
QListWidget#navigation {{ background: {window}; border: 0;
    border-right: 1px solid {border};
    outline: 0; padding-top: 6px; }}
QListWidget#navigation::item {{ padding: 9px 14px; color: {text};
    border-left: 3px solid transparent; }}
QListWidget#navigation::item:hover {{ background: {raised}; }}
QListWidget#navigation::item:selected {{ background: {raised}; color: {text};
    border-left: 3px solid {accent}; font-weight: 600; }}
QWidget#navigation-bottom {{ background: {window}; border-right: 1px solid {border}; }}
QFrame[role="card"] {{ background: {base}; border: 1px solid {border};
    border-radius: 8px; }}
QFrame[severity="success"] {{ background: {base}; border: 1px solid {ok};
    border-left: 4px solid {ok}; border-radius: 4px; }}
QFrame[severity="information"] {{ background: {base}; border: 1px solid {accent};
    border-left: 4px solid {accent}; border-radius: 4px; }}
QFrame[severity="warning"] {{ background: {base}; border: 1px solid {warn};
    border-left: 4px solid {warn}; border-radius: 4px; }}
QFrame[severity="error"] {{ background: {base}; border: 1px solid {bad};
    border-left: 4px solid {bad}; border-radius: 4px; }}
QLabel[severity] {{ background: transparent; border: 0; }}
QLabel#notice-word, QLabel#run-verdict {{ font-weight: 600; }}
QLabel[severity="success"] {{ color: {ok}; }}
QLabel#notice-word[severity="information"] {{ color: {accent}; }}
QLabel[severity="warning"] {{ color: {warn}; }}
QLabel[severity="error"] {{ color: {bad}; }}
QLabel[role="title"] {{ font-size: 20px; font-weight: 600; }}
QLabel[role="heading"] {{ font-size: 14px; font-weight: 600; }}
QLabel[role="strong"] {{ font-weight: bold; }}
QLabel[role="muted"] {{ color: {muted}; }}
QLabel[state="ok"] {{ color: {ok}; font-weight: bold; }}
QLabel[state="warn"] {{ color: {warn}; font-weight: bold; }}
QLabel[state="bad"] {{ color: {bad}; font-weight: bold; }}
QLabel[state="accent"] {{ color: {accent}; font-weight: bold; }}
QLabel[state="muted"] {{ color: {muted}; font-weight: bold; }}
QLabel#labels {{ color: {warn}; }}
QStatusBar {{ color: {muted}; border-top: 1px solid {border}; }}
QStatusBar::item {{ border: 0; }}
QSplitter::handle {{ background: {window}; }}
QSplitter::handle:hover {{ background: {border}; }}
QGroupBox {{ border: 1px solid {border}; border-radius: 6px; margin-top: 10px;
    padding-top: 6px; }}
QGroupBox::title {{ subcontrol-origin: margin; left: 10px; padding: 0 4px;
    color: {muted}; }}
QTabBar::tab {{ padding: 6px 14px; color: {muted}; border: 0;
    border-bottom: 2px solid transparent; }}
QTabBar::tab:selected {{ color: {text}; border-bottom: 2px solid {accent}; }}
QTabBar::tab:focus {{ color: {accent}; }}
QTabWidget::pane {{ border: 0; border-top: 1px solid {border}; }}
QProgressBar {{ border: 1px solid {border}; border-radius: 4px; background: {base};
    text-align: center; color: {text}; }}
QProgressBar::chunk {{ background: {accent}; }}
QCheckBox::indicator, QRadioButton::indicator {{ width: 13px; height: 13px;
    border: 1px solid {muted}; background: {base}; }}
QCheckBox::indicator {{ border-radius: 3px; }}
QRadioButton::indicator {{ border-radius: 7px; }}
QCheckBox::indicator:checked, QRadioButton::indicator:checked {{ background: {accent};
    border: 1px solid {accent}; }}
QCheckBox:focus, QRadioButton:focus {{ color: {accent}; }}
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled {{
    border-color: {border};
    background: {window}; }}
QCheckBox::indicator:checked:disabled, QRadioButton::indicator:checked:disabled {{
    background: {muted}; }}
QToolButton {{ border: 1px solid transparent; border-radius: 4px; padding: 3px 6px; }}
QToolButton:hover, QToolButton:focus {{ border-color: {accent}; }}
QToolButton:checked {{ background: {raised}; border-color: {border}; }}
"""


def stylesheet(theme: Theme) -> str:
    """Return the style sheet in the colours of a theme."""
    return _SHEET.format(**asdict(theme))
