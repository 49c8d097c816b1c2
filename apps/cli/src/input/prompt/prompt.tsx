import { Box, Text, useCursor } from 'ink';
import { createElement, type ReactElement } from 'react';
import type { Menu } from '../completion/completion.ts';
import type { EditorState } from '../editor/editor-state.ts';
import { hintText, menuLines } from './menu-lines.ts';
import { type Span, type StyledLine, span } from './styled-line.ts';
import { type TextLines, textLines } from './text-lines.ts';

export interface PromptProps {
  readonly state: EditorState;
  readonly menu?: Menu | undefined;
  /** A run goes on: the hint says what the keys do then. */
  readonly isBusy?: boolean | undefined;
  /** False: somebody else has the keys, and no cursor is drawn. */
  readonly isActive?: boolean | undefined;
  /** Instead of the hint of the mode; '' for none. */
  readonly hint?: string | undefined;
  readonly placeholder?: string | undefined;
  /** Cells, all of them used. */
  readonly width: number;
  /** Rows of text at most; it scrolls inside of them. 10 unless told. */
  readonly maxRows?: number | undefined;
  /** Rows of the completion list at most. 8 unless told. */
  readonly maxMenuRows?: number | undefined;
  /**
   * Rows of the live region above the prompt. Where told, the terminal's own cursor is put in
   * place, which is where input methods compose; otherwise a cursor is drawn.
   */
  readonly top?: number | undefined;
}

/** The editor as it is seen: the text, the completion list, the hint. As high as `promptHeight` says. */
export function Prompt(props: PromptProps): ReactElement {
  const { lines, cursor } = promptLines(props);
  const { setCursorPosition } = useCursor();
  const { top, isActive = true, width } = props;
  const isPlaced = top !== undefined && isActive;
  setCursorPosition(isPlaced ? { x: cursor.x, y: top + cursor.y } : undefined);
  return createElement(Box, { flexDirection: 'column', width }, ...lines.map(lineElement));
}

/** How many rows `<Prompt>` takes: for whoever has to keep the live region below the terminal's height. */
export function promptHeight(props: PromptProps): number {
  return promptLines(props).lines.length;
}

/** What of it stands above the cursor, and how many cells are left of that. */
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
  // Nothing is wider than it may be; should a terminal see that otherwise, the height stays.
  return createElement(Text, { wrap: 'truncate-end' }, ...line.map(spanElement));
}

function spanElement({ text, style }: Span): ReactElement | string {
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
      // By hand: it is no colour, and has to be there in terminals without colour too.
      return `\u001b[7m${text}\u001b[27m`;
  }
}
