import { cpSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { answerReply } from '@millrace/providers/scripted-server';
import { expect, test } from 'vitest';
import { builtProgram } from '../testing/built-program.ts';
import { scriptedModel } from './testing/scripted-model.ts';
import {
  describeInTmux,
  idleHint,
  promptText,
  terminalHarness,
} from './testing/terminal-harness.ts';

/** Packages that the program or its dependencies load on demand. */
const wanted = [
  'highlight.js/lib/core',
  'highlight.js/lib/languages/javascript',
  'react-devtools-core',
];

const evil = (name: string) =>
  `require('node:fs').writeFileSync(process.env.CANARIES + '/${name.replaceAll('/', '-')}', '');\n`;

/**
 * The command is installed as a dependency of the project. The sandbox protects its files. A
 * command could still add packages next to it, and they would run with all rights of the agent.
 */
describeInTmux().concurrent('a package beside the program', () => {
  test('attack: the program loads a package that a command has put into node_modules', async (context) => {
    const { server, files, env } = await scriptedModel(context);
    const packages = wanted.map((name) => [`project/node_modules/${name}.js`, evil(name)]);
    const { workspace, open } = terminalHarness(context, {
      ...files,
      ...Object.fromEntries(packages),
      'canaries/.keep': '',
    });
    const { folder, project } = workspace;
    const installed = join(project, 'node_modules/@millrace/cli');
    cpSync(dirname(dirname(builtProgram())), installed, { recursive: true });
    server.reply((request) =>
      answerReply({ text: 'Here:\n\n```js\nconst shipped = 1;\n```\n\nThat is all.' }, request),
    );
    const terminal = await open({
      env: { ...env, DEV: 'true', CANARIES: join(folder, 'canaries') },
    });
    await terminal.send('node node_modules/@millrace/cli/bundle/main.js');
    await terminal.waitFor(promptText);
    await terminal.send('Show me');
    const printed = await terminal.waitForPrinted('That is all.');
    await terminal.waitFor(idleHint);
    expect(printed).toContain('const shipped = 1;');
    expect(readdirSync(join(folder, 'canaries'))).toEqual(['.keep']);
  });
});
