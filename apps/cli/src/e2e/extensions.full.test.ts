import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hookSettings } from '../testing/test-agent.ts';
import { scriptedModel } from './testing/scripted-model.ts';
import { describeInTmux, startChat, terminalHarness } from './testing/terminal-harness.ts';

const guard = `input=$(cat)
case "$input" in *secret.txt*) echo "That file is closed" >&2; exit 2;; esac
`;

const files = {
  'project/.git/HEAD': 'ref: refs/heads/main\n',
  'project/.claude/settings.json': hookSettings('PreToolUse', 'sh .claude/hooks/guard.sh', {
    matcher: 'Read|Write',
  }),
  'project/.claude/hooks/guard.sh': guard,
  'project/.claude/skills/report/SKILL.md':
    '---\nname: report\ndescription: Writes a report\n---\nWrite three lines.',
  'project/CLAUDE.md': 'Answer in French.',
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
    await terminal.send('/quit');
    await terminal.waitFor(/\n\$/);
  });
});
