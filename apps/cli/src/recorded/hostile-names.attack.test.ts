import { createAgent } from '@millrace/agent';
import { pinSession, testRecordings } from '@millrace/agent/testing';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { plainTheme } from '../text/theme/theme.ts';
import { markdownReport } from './report-files.ts';
import { textReport } from './report-text.ts';

// A pull request contains a recording whose file name has line breaks. The job shows the Markdown summary.

test('18.433: attack: the name of a recording writes its own lines into the reports', async () => {
  const log = memoryLog();
  const agentWith = (instructions: string) =>
    createAgent({ log, provider: scriptedProvider(['Hello']), instructions });
  const before = agentWith('Be brief.');
  await before.run('Hi', { session: 's' }).result;
  const recording = await pinSession(before, 's', { name: 'helper' });
  const name = 'a\n\n# All tests passed\r\r![x](https://evil.example/p.png)\n\n';
  const report = await testRecordings(agentWith('Be kind.'), [{ name, recording }]);
  expect(report.changed).toBe(1);
  const options = { theme: plainTheme, columns: 80, accepted: new Set<string>() };
  const text = textReport(report, options).map(({ ansi }) => ansi);
  for (const shown of [markdownReport(report), text.join('')]) {
    const lines = shown.split(/[\r\n]/).filter((line) => /All tests|evil/.test(line));
    expect(lines).not.toEqual([]);
    // The name stays in the line of the place. A line of a block of HTML has no Markdown.
    for (const line of lines) expect(line).toMatch(/^<details><summary>|^ {2}/);
  }
  await log.close();
});
