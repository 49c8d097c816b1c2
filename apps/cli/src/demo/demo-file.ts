import type { Findings } from './tour-findings.ts';

/** The change that the tour asks leave for. */
export type DemoChange =
  | { readonly name: 'write'; readonly input: { readonly path: string; readonly content: string } }
  | {
      readonly name: 'edit';
      readonly input: {
        readonly path: string;
        readonly edits: readonly [{ readonly old_text: string; readonly new_text: string }];
      };
    };

export const demoFileName = 'millrace-demo.md';

/** A new file the first time, and a small edit each time after. What somebody else wrote is left alone. */
export function demoChange(findings: Findings): DemoChange {
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
