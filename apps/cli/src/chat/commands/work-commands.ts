import { relative } from 'node:path';
import { type FileChangeOnLog, readFileChanges, unifiedDiff } from '@millrace/tools';
import { storedText } from '../../store/stored-text.ts';
import { type Block, note } from '../contract/block.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

/** Maximum number of files that /diff shows. */
const maxFiles = 40;
/** Maximum number of lines per file that /diff shows. */
const maxDiffLines = 200;

export const diff: SlashCommand = {
  name: '/diff',
  argument: '[path]',
  description: 'Show the file changes of this session',
  async run(context, argument) {
    const { log, conversation, print } = context;
    const changes = await readFileChanges(log, conversation.session);
    const files = netChanges(changes).filter(({ path }) =>
      nameOf(context, path).includes(argument),
    );
    if (files.length === 0) return print(note('dim', 'This session has changed no such file.'));
    for (const file of files.slice(0, maxFiles)) print(await diffBlock(context, file));
    if (files.length > maxFiles)
      print(note('dim', `… and ${files.length - maxFiles} more files. /diff <path> shows them.`));
  },
};

/** The change of one file from the start of the session until now. */
type NetChange = Pick<FileChangeOnLog, 'path' | 'before' | 'after' | 'isUnknown'>;

/** Joins the changes of each file. Files that are as they were before are left out. */
function netChanges(changes: readonly FileChangeOnLog[]): readonly NetChange[] {
  const byPath = new Map<string, NetChange>();
  for (const { path, before, after, isUnknown } of changes) {
    const first = byPath.get(path);
    byPath.set(path, {
      path,
      before: first === undefined ? before : first.before,
      after,
      isUnknown,
    });
  }
  return [...byPath.values()].filter(
    ({ before, after, isUnknown }) => isUnknown || before?.hash !== after?.hash,
  );
}

async function diffBlock(context: CommandContext, change: NetChange): Promise<Block> {
  const { path, before, after, isUnknown } = change;
  const name = nameOf(context, path);
  if (isUnknown)
    return note('dim', `${name}: a command changed files here that the log does not have`);
  const [old, now] = await Promise.all([
    storedText(context.log, before),
    storedText(context.log, after),
  ]);
  if (old === undefined || now === undefined)
    return note('dim', `${name}: changed, but its content is not text or is not stored`);
  const { text, added, removed } = unifiedDiff(old, now, maxDiffLines);
  const kind = before === undefined ? ', new' : after === undefined ? ', deleted' : '';
  return { type: 'diff', title: `${name}  +${added} −${removed}${kind}`, text };
}

function nameOf({ cwd }: CommandContext, path: string): string {
  return path === '' ? '(redacted)' : relative(cwd, path) || 'this folder';
}

export const review: SlashCommand = {
  name: '/review',
  argument: '[what]',
  description: 'Let the agent review changes: by default those since the last commit',
  onlyWhenIdle: true,
  run: ({ conversation }, argument) =>
    conversation.send(
      [
        `Review ${argument === '' ? 'the uncommitted changes of this folder (git status, git diff, git diff --staged, new files)' : argument}.`,
        'Read the changed code and the code that uses it. Look for wrong behaviour, lost data, security problems, missing tests, and differences from the style of the project.',
        'List what you found, the worst first: path:line, what goes wrong and when, and how to fix it. Say what you could not check. Change nothing.',
      ].join('\n'),
    ),
};

/** The message that lets the agent write AGENTS.md. */
export const initPrompt: string = [
  'Write AGENTS.md in this folder, for agents and people who are new to the project. If it exists, improve it and keep what is still true.',
  'Find the facts first: README, contribution guide, package files, build and CI settings, tests, and a sample of the source.',
  'Contents: what the project is, in two sentences; the commands to install, build, run, lint and test, also for one test; where things are; rules of style and structure that the code really follows; traps.',
  'Only what is specific to this project, and what you have checked. At most 80 lines.',
].join('\n');

export const init: SlashCommand = {
  name: '/init',
  description: 'Let the agent write AGENTS.md: how to work in this project',
  onlyWhenIdle: true,
  run: ({ conversation }) => conversation.send(initPrompt),
};
