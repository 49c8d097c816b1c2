import { expect, test, vi } from 'vitest';
import { openSandbox } from './command-sandbox.ts';

// The process exits at once, and the sandbox renamed a repository whose name a command chose.

const registered = vi.hoisted(() => ({ report: (_sentence: string) => {} }));
vi.mock('@millrace/tools', async (original) => ({
  ...(await original<object>()),
  reportAtExit: (report: (sentence: string) => void) => {
    registered.report = report;
  },
}));

test('18.1512: attack: the report of the last check controls the terminal', async () => {
  const find = async () => ({ problem: 'failed', reason: 'none', advice: 'none' }) as const;
  const lists = { unixSockets: [], writable: [], hide: [] };
  const config = { profile: 'workspace', network: false, isRequired: false, ...lists } as const;
  await openSandbox(config as never, find as never);
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  registered.report('The sandbox renamed /a\u001b]52;c;aGk=\u0007');
  const texts = write.mock.calls.map(([text]) => text);
  write.mockRestore();
  expect(texts).toEqual(['The sandbox renamed /a␛]52;c;aGk=␇\n']);
});
