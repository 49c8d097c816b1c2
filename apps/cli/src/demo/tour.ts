import type { Part } from '@millrace/core';
import { call, count, quoted, thought, type Voice } from './answer-parts.ts';
import type { Conversation, Step } from './conversation.ts';
import { type Findings, findingsOf, tellingFiles, tellingFolder } from './tour-findings.ts';

type Parts = readonly (Part | string)[];

/** What the end of a tour is known by, in a conversation that is taken up again. */
export const tourEnd = 'That was the tour.';

const whatNext =
  'In the chat, say anything for a long answer, and stop it with Esc. Ask *what are you?* for how to get a real model.';

/** The next step of a look around the folder: look, read, ask to write, say how it was. */
export function tourStep({ latest, steps }: Conversation, voice: Voice): Parts {
  const done = (...names: readonly string[]) => steps.filter(({ name }) => names.includes(name));
  if (voice.tools.has('ls') && done('ls').length === 0) return look(latest, voice);
  const findings = findingsOf(steps);
  const change = done('write', 'edit').at(-1);
  if (change !== undefined) return [`${closing(change)}\n\n${tourEnd} ${whatNext}\n`];
  const reading = steps.length <= 1 ? readSome(findings, voice) : [];
  if (reading.length > 0) return reading;
  const wish = demoChange(findings);
  const asking = call(voice, wish.name, wish.input);
  const report = reportOf(findings, voice);
  return asking.length === 0
    ? [`${report}\n\n${tourEnd} ${whatNext}\n`]
    : [...wishing(report, wish), ...asking];
}

function look(latest: string, voice: Voice): Parts {
  const thinking = `The person says ${quoted(latest)}. I am a script and cannot understand that, but I can show how an agent works here, with the real loop and the real tools. First I have to know what is in ${voice.folder}. To list a folder changes nothing, so nobody has to be asked about it.`;
  const words = `I look around in **${voice.folder}** first.\n`;
  return [thought(thinking), words, ...call(voice, 'ls', { path: '.' })];
}

/** Several things at once: none of them needs the others. */
function readSome({ listing }: Findings, voice: Voice): Parts {
  const { files, folders } = listing;
  const known = files.includes(demoFileName) ? [demoFileName] : [];
  const names = [...new Set([...tellingFiles(files, 2), ...known])];
  const folder = tellingFolder(folders);
  const place = folder ?? names[0];
  const calls = [
    ...names.flatMap((path) => call(voice, 'read', { path, limit: 40 })),
    ...(folder === undefined ? [] : call(voice, 'ls', { path: folder })),
    ...(place === undefined ? [] : call(voice, 'grep', { pattern: 'TODO|FIXME', path: place })),
  ];
  if (calls.length === 0) return [];
  const seen = `${count(folders.length, 'folder')} and ${count(files.length, 'file')}`;
  const thinking = `I see ${seen}. ${quoted(names[0] ?? folder ?? '')} says most about it. What I want to know next does not depend on one another, so I ask for all of it in one go.`;
  const words = `I see ${seen}. I read what says most, and search for open ends, all at the same time.\n`;
  return [thought(thinking), words, ...calls];
}

function reportOf({ listing, read, reminders, inner }: Findings, voice: Voice): string {
  const { folder, tools } = voice;
  const { folders, files } = listing;
  if (!tools.has('ls')) return 'I have no tools here to look around with.';
  if (folders.length + files.length === 0) return `**${folder}** is empty: a fresh start.`;
  const rows = [
    ...read.map(
      ({ name, lines, hasMore, first }) =>
        `| \`${name}\` | ${lines}${hasMore ? '+' : ''} | ${cell(first)} |`,
    ),
    ...(inner ? [`| \`${inner.name}/\` | ${inner.count} inside | a folder |`] : []),
  ];
  const table = ['| name | lines | what it says first |', '| --- | --- | --- |', ...rows].join(
    '\n',
  );
  const open =
    reminders === undefined ? '' : ` I found ${count(reminders, 'note')} of things to do.`;
  return `This is what I found, and none of it is made up:\n\n${rows.length > 0 ? table : 'Nothing to read.'}\n\nIn all I count ${count(folders.length, 'folder')} and ${count(files.length, 'file')} in **${folder}**.${open}`;
}

/** A bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function wishing(report: string, { name, input: { path } }: DemoChange): Parts {
  const what = name === 'edit' ? `count this visit in \`${path}\`` : `leave a note in \`${path}\``;
  return [
    `${report}\n\nNow I would like to ${what}. To change a file is up to you: look at what I want to do, then allow it or not.\n`,
  ];
}

function closing({ name, result }: Step): string {
  const { text, isError } = result;
  if (!isError) {
    const [first = ''] = text.split('\n');
    const how = name === 'edit' ? 'The change above is real' : 'The file is really there';
    return `Thank you. ${first}. ${how}: ask your shell.`;
  }
  const denied = /^It was not allowed(?:: (.*))?/s.exec(text);
  if (denied === null) return `I could not do it: ${text}`;
  const reason =
    denied[1] === undefined ? '' : ` The reason that I was given: ${quoted(denied[1])}.`;
  return `Fine, nothing was changed.${reason} A model is told that it may not, and has to find another way; a script just goes on.`;
}

/** The change that the tour asks leave for. */
type DemoChange =
  | { readonly name: 'write'; readonly input: { readonly path: string; readonly content: string } }
  | {
      readonly name: 'edit';
      readonly input: {
        readonly path: string;
        readonly edits: readonly [{ readonly old_text: string; readonly new_text: string }];
      };
    };

const demoFileName = 'millrace-demo.md';

/** A new file the first time, and a small edit each time after. What somebody else wrote is left alone. */
function demoChange(findings: Findings): DemoChange {
  const known = findings.read.find(({ name }) => name === demoFileName);
  const visits = /^Visit (\d{1,6})\.$/m.exec(known?.text ?? '')?.[1];
  if (visits !== undefined) {
    const edits = [
      { old_text: `Visit ${visits}.`, new_text: `Visit ${Number(visits) + 1}.` },
    ] as const;
    return { name: 'edit', input: { path: demoFileName, edits } };
  }
  return { name: 'write', input: { path: freeName(findings), content: contentOf(findings) } };
}

function freeName({ listing: { files, folders } }: Findings): string {
  const taken = new Set([...files, ...folders]);
  for (let number = 2, name = demoFileName; ; number++) {
    if (!taken.has(name)) return name;
    name = demoFileName.replace('.md', `-${number}.md`);
  }
}

function contentOf({ listing, read, reminders }: Findings): string {
  const names = read.map(({ name }) => name).join(', ');
  return `# Millrace was here

This file was written by the demo model of Millrace, after somebody allowed it.

- Folders here: ${listing.folders.length}
- Files here: ${listing.files.length}
- Read: ${names || 'nothing'}
- Notes of things to do: ${reminders ?? 'not looked for'}

Visit 1.

You can delete it whenever you like.
`;
}
