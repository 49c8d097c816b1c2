import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { guardScript, hookSettings } from '../testing/test-agent.ts';
import { gatedAnswer, scriptedModel } from './testing/scripted-model.ts';
import {
  countOf,
  describeInTmux,
  idleHint,
  promptText,
  terminalHarness,
  waitForDialog,
  withoutLayout,
} from './testing/terminal-harness.ts';
import { testDaemon } from './testing/test-daemon.ts';

const ofProject = {
  'project/.claude/settings.json': hookSettings('PreToolUse', 'sh .claude/hooks/guard.sh', {
    matcher: 'Read',
  }),
  'project/.claude/hooks/guard.sh': guardScript,
  'project/.claude/skills/report/SKILL.md':
    '---\nname: report\ndescription: Writes a report\n---\nWrite three lines.',
  'project/.millrace/extensions/weather.ts': `import type { Extension } from '@millrace/tools/extension';
const extension: Extension = (millrace) => {
  millrace.status('sunny');
  millrace.command({ name: 'sky', description: 'Look up', run: () => ({ print: 'The sky is blue.' }) });
};
export default extension;
`,
};

/** A picture of one pixel. */
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

const call = (name: string, input: object) => ({ name, arguments: JSON.stringify(input) });

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
  { columns: 40, rows: 16 },
];

describeInTmux().concurrent('23: a day with the agent', () => {
  test.for(sizes)('at $columns × $rows', async ({ columns, rows }, context) => {
    const { server, files, env } = await scriptedModel(context);
    const model = { provider: 'compatible', model: 'any', baseUrl: `${server.url}/v1` };
    const info = { contextTokens: 100_000, prices: { input: '1', output: '2', cacheRead: '0.1' } };
    const config = JSON.stringify({ models: { test: { ...model, info } } });
    const own = { ...files, 'home/.config/millrace/config.json': config };
    const { open, workspace } = terminalHarness(context, { ...own, ...ofProject });
    const { project } = workspace;
    execFileSync('git', ['init', '--quiet', '--initial-branch=main', project]);
    writeFileSync(join(project, 'shot.png'), Buffer.from(picture, 'base64'));
    const daemon = testDaemon(context, workspace);
    const terminal = await open({ columns, rows, env });
    const keep = (name: string) => terminal.saveScreen(`story-${columns}x${rows}-${name}`);
    /** Waits for a text that the terminal may have broken into lines. */
    const shows = (text: string) =>
      terminal.waitUntil((screen) => withoutLayout(screen).includes(text), text);

    // The extensions of the project are shown before they are used.
    await terminal.send('millrace');
    await terminal.waitFor(/\[y\/\s*N\]|Space shows more/);
    await keep('1-trust');
    await terminal.press('C-c');
    await terminal.waitFor(/\$\s*$/);
    await terminal.send('clear; millrace --trust');
    await terminal.waitFor(promptText.slice(0, 12));
    await shows('sunny');

    // A skill, and a hook that blocks a call.
    server.answer({ toolCalls: [call('read', { path: 'secret.txt' })] });
    server.answer({
      text: 'The file is closed, so the report has no numbers.',
      usage: { input: 20_000, output: 20, cacheRead: 19_000 },
    });
    await terminal.send('/report on the orders');
    await shows('has no numbers.');
    await terminal.waitFor(idleHint);
    expect(withoutLayout(await terminal.scrollback())).toContain('A hook blocked');
    // The footer: the mode, the model, the folder with its branch, the used context, and at full width the rest.
    await terminal.waitFor(
      /asks first · compatible\/any[\s\S]*project \(main\) · context 20% of 100k/,
    );
    if (columns >= 80) await terminal.waitFor(/ · \$0\.0\d+/);
    if (columns >= 120) await terminal.waitFor(/ · cache \d+% · /);
    await keep('2-skill-and-hook');

    // A command of the extension.
    await terminal.send('/sky');
    await shows('The sky is blue.');
    await keep('3-extension');

    // A picture reaches the model as a picture.
    server.answer({ text: 'It is one red pixel.' });
    await terminal.send('What is on @shot.png ?');
    await shows('It is one red pixel.');
    await terminal.waitFor(idleHint);
    await keep('4-picture');
    expect(JSON.stringify(server.requests.at(-1)?.body)).toContain(picture.slice(0, 40));

    // A paste of two lines, keys that arrive together, and a window that is small for a moment.
    server.answer({ text: 'It has two lines.' });
    await terminal.paste('What is\nin this', '> What is in this');
    await terminal.typeAtOnce(' text?\r');
    await shows('It has two lines.');
    await terminal.waitFor(idleHint);
    await terminal.resize(20, 8);
    await terminal.waitFor(/two lines\.[\s\S]*^> Say what to do\.\s*$/m);
    await keep('4b-small');
    await terminal.resize(columns, rows);
    await terminal.waitFor(idleHint);
    await terminal.waitFor(promptText);
    await keep('4c-again');
    const history = withoutLayout(await terminal.scrollback());
    for (const once of ['It has two lines.', 'It is one red pixel.', '> Say what to do', idleHint])
      expect(countOf(history, once), history).toBe(1);
    expect(countOf(history, 'project (main)'), history).toBe(1);

    // A plan, and its work.
    server.answer({ text: 'The plan: write poem.txt.' });
    server.answer({
      text: 'I start.',
      toolCalls: [call('write', { path: 'poem.txt', content: 'The river\n' })],
    });
    server.answer({ text: 'It is written.' });
    // Keys that arrive together do not change the mode.
    await terminal.typeAtPace('/mode plan', 100);
    await terminal.waitFor('> /mode plan');
    await terminal.typeAtPace('\r', 200);
    await terminal.waitFor('plan mode');
    await terminal.send('Plan a poem');
    await shows('Go ahead with this plan?');
    await terminal.waitFor('Choose an answer');
    await keep('5-plan');
    await terminal.type('2');
    await shows('It is written.');
    await terminal.waitFor(idleHint);
    await keep('6-work');
    const poem = join(project, 'poem.txt');
    expect(readFileSync(poem, 'utf8')).toBe('The river\n');

    // Back to an earlier message, with the files.
    await terminal.send('/undo');
    await shows('You went back.');
    await terminal.waitFor(idleHint);
    await keep('7-undo');
    expect(existsSync(poem)).toBe(false);
    // The message is in the prompt again.
    await terminal.press('C-u');
    await terminal.waitFor(promptText.slice(0, 12));
    await terminal.send('/redo');
    await context.expect.poll(() => existsSync(poem)).toBe(true);
    await shows('It is written.');
    await terminal.waitFor(idleHint);
    await terminal.send('/rewind');
    await shows('Go back to before which message?');
    await keep('8-rewind');
    await terminal.press('C-e');
    await shows('Label. Enter saves');
    await terminal.send('first draft');
    await shows('[first draft] Go: carry out');
    await keep('8b-label');
    await terminal.press('Escape');
    await terminal.waitFor(idleHint);

    // A run in the background, and back.
    const { reply } = gatedAnswer(['It turns ', 'the wheel.']);
    server.reply(reply);
    server.answer({
      text: 'I write it down.',
      toolCalls: [call('bash', { command: 'echo wheel >> poem.txt' })],
    });
    server.answer({ text: 'The poem is longer now.' });
    await terminal.send('Go on with the poem');
    await shows('It turns');
    await terminal.send('/background');
    await shows('in the background');
    await terminal.waitFor(/\$\s*$/);
    await keep('9-background');
    await terminal.send('clear; until millrace ps | grep waiting; do :; done');
    await terminal.waitFor(/^\w+ +waiting/m);
    await terminal.send('clear; millrace ps');
    await terminal.waitFor(/waiting[\s\S]*^\$\s*$/m);
    await keep('10-ps');
    await terminal.send('clear; millrace attach');
    await waitForDialog(terminal);
    await keep('11-attach');
    await terminal.type('y');
    await shows('The poem is longer now.');
    await terminal.waitFor(idleHint);

    // A link for others.
    await terminal.send('/share 30m');
    // The terminal wraps the link, so a selection contains all of it without a line break.
    const printed = await terminal.waitForPrinted(/#token=[\w-]{46}/);
    const link = /^\S+\/tasks\/(\w+)#token=([\w-]{46})$/m.exec(printed.replaceAll(/ +$/gm, ''));
    await shows('nothing else, until');
    await keep('12-share');
    // A code that would be wrapped is not printed.
    expect((await terminal.scrollback()).includes('▄▄▄')).toBe(columns > 44);
    const [, id = '', token = ''] = link ?? [];
    expect(await daemon.request(`/tasks/${id}`, undefined, token)).toMatchObject({ status: 200 });
    await terminal.send('/quit');
    await terminal.waitFor(/\$\s*$/);
    await keep('13-end');
  });
});
