import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { scopedStyles } from './packages/scoped-styles.ts';

describe('the style sheet of @millrace/react', () => {
  test('applies only inside of its root', () => {
    const text = ':root { --a: 1 } /* } */ .item { color: red }\n@media (x) { :root { --a: 2 } }';
    expect(scopedStyles(text, '.millrace')).toBe(
      '.millrace {\n& { --a: 1 }\n.item { color: red }\n@media (x) { & { --a: 2 } }\n}\n\n',
    );
    expect(scopedStyles('.millrace { all: unset } .millrace-x { top: 0 }', '.millrace')).toContain(
      '& { all: unset }\n.millrace-x { top: 0 }',
    );
  });

  test('has names of its own for animations', () => {
    const text = '.a { animation: flow 1s, overflow 2s } @keyframes flow { to { top: 0 } }';
    expect(scopedStyles(text, '.m')).toBe(
      '.m {\n.a { animation: millrace-flow 1s, overflow 2s }\n}\n@keyframes millrace-flow { to { top: 0 } }\n',
    );
  });

  test('a rule that does not end is an error', () => {
    expect(() => scopedStyles('.a { top: 0', '.m')).toThrow(/does not end/);
    expect(() => scopedStyles('.a { content: "}" ', '.m')).toThrow(/does not end/);
  });

  test('has balanced braces, and all rules but the animations are inside of the root', () => {
    const folder = 'packages/react/src';
    const sheets = globSync(`${folder}/**/*.css`).map((path) => readFileSync(path, 'utf8'));
    const styles = scopedStyles(sheets.join('\n'), '.millrace');
    let depth = 0;
    const starts = styles.split('\n').filter((line) => {
      const isTop = depth === 0 && line !== '';
      depth += line.split('{').length - line.split('}').length;
      return isTop;
    });
    expect(depth).toBe(0);
    expect(
      starts.filter((line) => !/^(?:\.millrace \{|@keyframes millrace-[\w-]+ \{)$/.test(line)),
    ).toEqual([]);
  });
});
