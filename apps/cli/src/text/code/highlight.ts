import { expandTabs } from '../cells/expand-tabs.ts';
import { printable } from '../cells/printable.ts';
import { paintLine } from '../cells/span.ts';
import type { Theme } from '../theme/theme.ts';
import { piecesToLine } from './code-rows.ts';
import { LineHighlighter } from './line-highlighter.ts';

/** Code in colours, if its language is known and it is not too long for that; no line is wrapped. */
export function highlight(code: string, language: string, theme: Theme): string {
  const lines = new LineHighlighter(language);
  return printable(code)
    .split('\n')
    .map((line) => paintLine(piecesToLine(lines.line(expandTabs(line)), theme)))
    .join('\n');
}
