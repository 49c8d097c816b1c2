import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { guardScript, hookSettings } from '../testing/test-agent.ts';
import { scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  startChat,
  terminalHarness,
  waitForDialog,
} from './testing/terminal-harness.ts';

const files = {
  'project/.git/HEAD': 'ref: refs/heads/main\n',
  'project/.claude/settings.json': hookSettings('PreToolUse', 'sh .claude/hooks/guard.sh', {
    matcher: 'Read|Write',
  }),
  'project/.claude/hooks/guard.sh': guardScript,
  'project/.claude/skills/report/SKILL.md':
    '---\nname: report\ndescription: Writes a report\n---\nWrite three lines.',
  'project/CLAUDE.md': 'Answer in French.',
  'project/.millrace/extensions/weather.ts': `import type { Extension } from '@millrace/tools/extension';
const extension: Extension = (millrace) => {
  millrace.status('sunny in Oslo');
  millrace.tool({ name: 'weather', description: 'The weather', execute: () => 'It is 7 degrees.' });
  millrace.command({ name: 'sky', description: 'Look up', run: () => ({ print: 'The sky is blue.' }) });
  millrace.renderer({ tools: ['weather'], render: ({ text }) => 'Weather report: ' + text });
  millrace.theme({ name: 'sun', styles: { heading: 'bold #ffcc00' } });
};
export default extension;
`,
};

describeInTmux().concurrent('extensions in a real terminal', () => {
  test('are shown before they are trusted, and work after that', async (context) => {
    const { server, files: ofModel, env } = await scriptedModel(context);
    const { open, workspace } = terminalHarness(context, { ...ofModel, ...files });
    const terminal = await open({ columns: 100, rows: 30, env });
    await terminal.send('millrace');
    const question = await terminal.waitFor('[y/N]');
    expect(question).toContain('PreToolUse Read|Write: sh .claude/hooks/guard.sh');
    expect(question).toContain('report (.claude/skills/report/SKILL.md)');
    expect(question).toContain('weather (.millrace/extensions/weather.ts)');
    await terminal.press('C-c');
    await terminal.waitFor(/\[y\/N\][\s\S]*\n\$/);
    await startChat(terminal, '--trust');
    server.answer({
      text: 'I read it.',
      toolCalls: [{ name: 'read', arguments: '{"path":"secret.txt"}' }] as never,
    });
    server.answer({ text: 'It is closed.' });
    await terminal.send('/report on the orders');
    await terminal.waitForPrinted('That file is closed');
    await terminal.waitForPrinted('It is closed.');
    expect(existsSync(join(workspace.folder, 'home/.config/millrace/folders.json'))).toBe(true);
    expect(JSON.stringify(server.requests)).toContain('Answer in French.');
    await terminal.waitFor('sunny in Oslo');
    await terminal.saveScreen('extension-status');
    await terminal.send('/sky');
    await terminal.waitForPrinted('The sky is blue.');
    await terminal.send('/theme sun');
    await terminal.waitForPrinted('Theme: sun.');
    server.answer({ toolCalls: [{ name: 'weather', arguments: '{}' }] as never });
    server.answer({ text: 'Cold.' });
    await terminal.send('How is the weather?');
    await terminal.waitFor('Allow weather?');
    await waitForDialog(terminal);
    await terminal.press('y');
    await terminal.waitForPrinted('Weather report: It is 7 degrees.');
    await terminal.waitForPrinted('(shown by an extension)');
    await terminal.waitForPrinted('Cold.');
    expect(JSON.stringify(server.requests.at(-1))).not.toContain('Weather report');
    await terminal.saveScreen('extension-tool');
    await terminal.send('/quit');
    await terminal.waitFor(/\n\$/);
  });
});
