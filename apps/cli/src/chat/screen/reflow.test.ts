import { expect, test } from 'vitest';
import { FakeTerminal } from '../../testing/fake-terminal.ts';
import { eraseFrame, terminalReflows } from './reflow.ts';

const printed = Array.from({ length: 20 }, (_, line) => `p${line}`);
const lines = ['abcdef', '你好你好', '\u001b[31mabc\u001b[39m'];

test.each([3, 5, 7, 8, 10, 20])(
  'what was drawn in ten columns is erased in %i, and nothing above it',
  (columns) => {
    const terminal = new FakeTerminal({ columns: 10, rows: 20, reflows: true });
    terminal.write([...printed, ...lines, '> typed', 'status\u001b[1A\u001b[8G'].join('\n'));
    terminal.resize(columns, 20);
    terminal.write(eraseFrame({ lines, column: 7 }, columns));
    expect(terminal.text).toBe(printed.join('\n'));
    expect(terminal.cursor.column).toBe(0);
  },
);

test('a terminal that rewraps lines keeps the number of printed lines', () => {
  const terminal = new FakeTerminal({ columns: 10, rows: 20 });
  terminal.write([...printed, ...lines, '> typed', 'status\u001b[1A\u001b[8G'].join('\n'));
  terminal.resize(4, 20);
  terminal.write(eraseFrame({ lines, column: 7 }, undefined));
  expect(terminal.text).toBe(printed.join('\n'));
});

test('detects terminals that rewrap lines', () => {
  expect(terminalReflows({ TERM: 'xterm-256color' })).toBe(true);
  expect(terminalReflows({ TERM: 'xterm-256color', XTERM_VERSION: 'XTerm(390)' })).toBe(false);
  expect(terminalReflows({ TERM: 'screen', XTERM_VERSION: 'XTerm(390)', TMUX: '/tmp/x' })).toBe(
    true,
  );
  // Windows sets no TERM.
  expect(terminalReflows({ WT_SESSION: 'id' })).toBe(true);
  expect(terminalReflows({ TERM: 'linux' })).toBe(false);
  expect(terminalReflows({ TERM: 'screen-256color' })).toBe(false);
});
