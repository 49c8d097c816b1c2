import { expect, test } from 'vitest';
import { LineHighlighter } from './highlight.ts';

test.each(['ts', 'bash', 'yaml'])(
  '18.169: attack: a long word in code of the language %s is not highlighted',
  (language) => {
    // A word of 16,000 letters took 9 s. Esc and Ctrl-C had to wait.
    const line = `if "a" ${'a'.repeat(2000)}`;
    expect(new LineHighlighter(language).line(line)).toEqual([{ text: line }]);
    expect(new LineHighlighter(language).line(line.slice(0, 20)).length).toBeGreaterThan(1);
  },
);
