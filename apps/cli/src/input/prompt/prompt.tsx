import { Box, Text, useCursor } from 'ink';
import { createElement, type ReactElement } from 'react';
import { printable } from '../../text/cells/printable.ts';
import { unwrapped } from '../../text/terminal/terminal-gate.ts';
import type { Menu } from '../completion/completion.ts';
import type { EditorState } from '../editor/editor-state.ts';
import { hintText, menuLines } from './menu-lines.ts';
import { type Span, type StyledLine, span } from './styled-line.ts';
import { type TextLines, textLines } from './text-lines.ts';

export interface PromptProps {
  readonly state: EditorState;
  readonly menu?: Menu | undefined;
  /** True during a run. The hint then describes the keys that work during a run. Default: false. */
  readonly isBusy?: boolean | undefined;
  /**
   * False if a different component receives the keys. The prompt then shows no cursor. Default:
   * true.
   */
  readonly isActive?: boolean | undefined;
  /** A hint that replaces the default hint. An empty text shows no hint. */
  readonly hint?: string | undefined;
  readonly placeholder?: string | undefined;
  /** The width of the prompt, in cells. */
  readonly width: number;
  /** Maximum number of text rows. Longer text scrolls. Default: 10. */
  readonly maxRows?: number | undefined;
  /** Maximum number of rows of the completion list. Default: 8. */
  readonly maxMenuRows?: number | undefined;
  /**
   * The number of rows of the live region above the prompt. If it is set, the cursor of the
   * terminal moves into the prompt, because input methods need it there. Default: the prompt draws
   * its own cursor.
   */
  readonly top?: number | undefined;
}

/**
 * Draws the editor: the text, the completion list and the hint. `promptHeight` returns its height.
 */
export function Prompt(props: PromptProps): ReactElement {
  const { lines, cursor } = promptLines(props);
  const { setCursorPosition } = useCursor();
  const { top, isActive = true, width } = props;
  const isPlaced = top !== undefined && isActive;
  setCursorPosition(isPlaced ? { x: cursor.x, y: top + cursor.y } : undefined);
  return createElement(Box, { flexDirection: 'column', width }, ...lines.map(lineElement));
}

/**
 * Returns the number of rows of `<Prompt>`. The caller uses it to keep the live region lower than
 * the terminal.
 */
export function promptHeight(props: PromptProps): number {
  return promptLines(props).lines.length;
}

/** Returns the lines above the cursor and the cursor's column. */
export function promptAbove(props: PromptProps): {
  readonly lines: readonly string[];
  readonly column: number;
} {
  const { lines, cursor } = promptLines(props);
  const above = lines.slice(0, cursor.y);
  return { lines: above.map((line) => line.map(({ text }) => text).join('')), column: cursor.x };
}

function promptLines(props: PromptProps): TextLines {
  const { state, menu, width, isBusy = false, isActive = true } = props;
  const { lines, cursor } = textLines({
    state,
    width,
    maxRows: props.maxRows ?? 10,
    placeholder: props.placeholder ?? '',
    drawsCursor: isActive && props.top === undefined,
  });
  const list = menu === undefined ? [] : menuLines(menu, width, props.maxMenuRows ?? 8);
  const hint = hintText({ notice: state.notice, hint: props.hint, menu, isBusy, width });
  return { lines: [...lines, ...list, ...(hint === '' ? [] : [[span(hint, 'dim')]])], cursor };
}

function lineElement(line: StyledLine): ReactElement {
  // Every line fits the width. If a terminal measures characters differently, it cuts the line, so the height stays.
  const [on, off] = unwrapped('\n').split('\n');
  return createElement(Text, { wrap: 'truncate-end' }, on, ...line.map(spanElement), off);
}

function spanElement({ text: raw, style }: Span): ReactElement | string {
  const text = printable(raw);
  switch (style) {
    case 'plain':
      return text;
    case 'dim':
      return createElement(Text, { dimColor: true }, text);
    case 'bold':
      return createElement(Text, { bold: true }, text);
    case 'accent':
      return createElement(Text, { color: 'cyan' }, text);
    case 'cursor':
      // Reverse video is written as a control sequence, because the cursor must be visible even
      // without colors.
      return `\u001b[7m${text}\u001b[27m`;
  }
}
