import { reportAtExit } from '@millrace/tools';
import { expect, test, vi } from 'vitest';
import { openSandbox } from './command-sandbox.ts';

// The process exits at once, and the sandbox renamed a repository whose name a command chose.

test('18.1512: attack: the report of the last check controls the terminal', async () => {
  const find = async () => ({ problem: 'failed', reason: 'none', advice: 'none' }) as const;
  const lists = { unixSockets: [], writable: [], hide: [] };
  const config = { profile: 'workspace', network: false, isRequired: false, ...lists } as const;
  await openSandbox(config as never, find as never);
  const report = reportAtExit(() => {});
  reportAtExit(report);
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  report('The sandbox renamed /a\u001b]52;c;aGk=\u0007');
  const texts = write.mock.calls.map(([text]) => text);
  write.mockRestore();
  expect(texts).toEqual(['The sandbox renamed /a␛]52;c;aGk=␇\n']);
});
