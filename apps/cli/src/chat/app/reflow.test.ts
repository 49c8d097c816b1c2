import { expect, test } from 'vitest';
import { FakeTerminal } from '../../testing/fake-terminal.ts';
import type { Terminal } from './coalesced-output.ts';
import { doesReflow, eraseReflowed } from './reflow.ts';

const erased = '\u001b[2K\u001b[1A';

test('where a terminal becomes narrower, as many rows are erased as its wrapping added', () => {
  const terminal = new FakeTerminal({ columns: 10, rows: 20 });
  const lines = ['', 'abc', 'abcdef', '你好你好', '\u001b[31mabc\u001b[39m'];
  const leave = eraseReflowed(terminal as unknown as Terminal, () => ({ lines }));
  terminal.resize(3, 20);
  expect(terminal.written).toBe(erased.repeat(0 + 0 + 1 + 2 + 0));
  terminal.resize(8, 20);
  terminal.resize(8, 10);
  expect(terminal.written).toBe(erased.repeat(3));
  leave();
  terminal.resize(2, 20);
  expect(terminal.written).toBe(erased.repeat(3));
});

test('terminals that are known to leave lines as they are have nothing to be erased', () => {
  expect(doesReflow({ TERM: 'xterm-256color' })).toBe(true);
  expect(doesReflow({ TERM: 'xterm-256color', XTERM_VERSION: 'XTerm(390)' })).toBe(false);
  expect(doesReflow({ TERM: 'screen', XTERM_VERSION: 'XTerm(390)', TMUX: '/tmp/x' })).toBe(true);
  expect(doesReflow({ TERM: 'linux' })).toBe(false);
});
