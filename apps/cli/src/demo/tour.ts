import type { Part } from '@millrace/core';
import { callPart, countText, type DemoContext, quoted, reasoningPart } from './answer-parts.ts';
import type { Conversation, Step } from './conversation.ts';
import { collectFindings, type Findings, filesToRead, folderToList } from './tour-findings.ts';

type Parts = readonly (Part | string)[];

/** The last sentence of a tour. In a resumed conversation, it shows that the tour has ended. */
export const tourEnd = 'That was the tour.';

const whatNext =
  'In the chat, type anything for a long answer, and stop it with Esc. Ask *what are you?* to learn how to use a real model.';

/**
 * Returns the next step of the tour: list the folder, read files, propose a change, or report the
 * result.
 */
export function tourStep({ latest, steps }: Conversation, context: DemoContext): Parts {
  const done = (...names: readonly string[]) => steps.filter(({ name }) => names.includes(name));
  if (context.tools.has('ls') && done('ls').length === 0) return listFolder(latest, context);
  const findings = collectFindings(steps);
  const change = done('write', 'edit').at(-1);
  if (change !== undefined) return [`${closingText(change)}\n\n${tourEnd} ${whatNext}\n`];
  const reading = steps.length <= 1 ? readFiles(findings, context) : [];
  if (reading.length > 0) return reading;
  const proposal = demoChange(findings);
  const asking = callPart(context, proposal.name, proposal.input);
  const report = findingsReport(findings, context);
  return asking.length === 0
    ? [`${report}\n\n${tourEnd} ${whatNext}\n`]
    : [...changeIntroduction(report, proposal), ...asking];
}

function listFolder(latest: string, context: DemoContext): Parts {
  const thinking = `The user wrote ${quoted(latest)}. I am a script and cannot understand that, but I can show how an agent works here, with the real loop and the real tools. First I need to know what is in ${context.folder}. Listing a folder changes nothing, so it needs no approval.`;
  const words = `First I look around in **${context.folder}**.\n`;
  return [reasoningPart(thinking), words, ...callPart(context, 'ls', { path: '.' })];
}

/**
 * Returns calls to read several files. They do not depend on each other, so they are in one answer.
 */
function readFiles({ listing }: Findings, context: DemoContext): Parts {
  const { files, folders } = listing;
  const known = files.includes(demoFileName) ? [demoFileName] : [];
  const names = [...new Set([...filesToRead(files, 2), ...known])];
  const folder = folderToList(folders);
  const place = folder ?? names[0];
  const calls = [
    ...names.flatMap((path) => callPart(context, 'read', { path, limit: 40 })),
    ...(folder === undefined ? [] : callPart(context, 'ls', { path: folder })),
    ...(place === undefined
      ? []
      : callPart(context, 'grep', { pattern: 'TODO|FIXME', path: place })),
  ];
  if (calls.length === 0) return [];
  const seen = `${countText(folders.length, 'folder')} and ${countText(files.length, 'file')}`;
  const thinking = `I see ${seen}. ${quoted(names[0] ?? folder ?? '')} probably describes the folder best. The next calls do not depend on each other, so I make them all at once.`;
  const words = `I see ${seen}. I read the most important files and search for TODO notes, all at the same time.\n`;
  return [reasoningPart(thinking), words, ...calls];
}

function findingsReport(
  { listing, read, reminders, inner }: Findings,
  context: DemoContext,
): string {
  const { folder, tools } = context;
  const { folders, files } = listing;
  if (!tools.has('ls')) return 'I have no tools here to look around with.';
  if (folders.length + files.length === 0) return `**${folder}** is empty.`;
  const rows = [
    ...read.map(
      ({ name, lines, hasMore, first }) =>
        `| \`${name}\` | ${lines}${hasMore ? '+' : ''} | ${escapeCell(first)} |`,
    ),
    ...(inner ? [`| \`${inner.name}/\` | ${inner.count} inside | a folder |`] : []),
  ];
  const table = ['| name | lines | first heading or line |', '| --- | --- | --- |', ...rows].join(
    '\n',
  );
  const open = reminders === undefined ? '' : ` I found ${countText(reminders, 'TODO note')}.`;
  return `This is what I found. All of it comes from real tool results:\n\n${rows.length > 0 ? table : 'Nothing to read.'}\n\nIn total there are ${countText(folders.length, 'folder')} and ${countText(files.length, 'file')} in **${folder}**.${open}`;
}

/** Escapes vertical bars, because they would end the table cell. */
function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function changeIntroduction(report: string, { name, input: { path } }: DemoChange): Parts {
  const what = name === 'edit' ? `count this visit in \`${path}\`` : `leave a note in \`${path}\``;
  return [
    `${report}\n\nNow I would like to ${what}. Changing a file needs your approval: check the change, then allow or deny it.\n`,
  ];
}

function closingText({ name, result }: Step): string {
  const { text, isError } = result;
  if (!isError) {
    const [first = ''] = text.split('\n');
    const how = name === 'edit' ? 'The change above is real' : 'The file now exists';
    return `Thank you. ${first}. ${how}: check it in your shell.`;
  }
  const denied = /^It was not allowed(?:: (.*))?/s.exec(text);
  if (denied === null) return `I could not do it: ${text}`;
  const reason = denied[1] === undefined ? '' : ` The reason given: ${quoted(denied[1])}.`;
  return `Fine, nothing was changed.${reason} A model receives the denial and looks for another way. A script simply continues.`;
}

/** The file change that the tour proposes. */
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

/**
 * Returns the change that the tour proposes. The first tour creates a new file, and later tours
 * edit that file. The user's files do not change.
 */
function demoChange(findings: Findings): DemoChange {
  const known = findings.read.find(({ name }) => name === demoFileName);
  const visits = /^Visit (\d{1,6})\.$/m.exec(known?.text ?? '')?.[1];
  if (visits !== undefined) {
    const edits = [
      { old_text: `Visit ${visits}.`, new_text: `Visit ${Number(visits) + 1}.` },
    ] as const;
    return { name: 'edit', input: { path: demoFileName, edits } };
  }
  return {
    name: 'write',
    input: { path: unusedFileName(findings), content: noteContent(findings) },
  };
}

function unusedFileName({ listing: { files, folders } }: Findings): string {
  const taken = new Set([...files, ...folders]);
  for (let number = 2, name = demoFileName; ; number++) {
    if (!taken.has(name)) return name;
    name = demoFileName.replace('.md', `-${number}.md`);
  }
}

function noteContent({ listing, read, reminders }: Findings): string {
  const names = read.map(({ name }) => name).join(', ');
  return `# Millrace demo

The demo model of Millrace wrote this file after you approved it.

- Folders here: ${listing.folders.length}
- Files here: ${listing.files.length}
- Read: ${names || 'nothing'}
- TODO notes: ${reminders ?? 'not searched'}

Visit 1.

You can delete it at any time.
`;
}
