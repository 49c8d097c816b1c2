import type { FoldState, Part } from '@millrace/core';
import { toArray } from '@millrace/core';
import type { ChatSource } from '../state/chat-source.ts';

/** The languages of artifacts. `react` is JSX or TSX. */
export type ArtifactKind = 'html' | 'svg' | 'react';

/** One version of an artifact. */
interface ArtifactVersion {
  /** Identifies the version in its session. */
  readonly key: string;
  readonly text: string;
}

/** A document that the model wrote, with all of its versions in order. */
export interface Artifact {
  /** The path of the file, or a name that the model or the page gave. */
  readonly name: string;
  readonly kind: ArtifactKind;
  readonly versions: readonly ArtifactVersion[];
}

/** Code blocks with fewer lines and characters are examples, and not documents. */
const minLines = 12;
const minLength = 500;
/** Maximum length of a document that a frame shows. */
const maxLength = 500_000;
const maxArtifacts = 100;
const maxVersions = 100;

const kinds: Readonly<Record<string, ArtifactKind>> = {
  ...{ html: 'html', htm: 'html', svg: 'svg', jsx: 'react', tsx: 'react', react: 'react' },
};

/** Names of artifacts without a name. A later document without a name is a new version of it. */
const defaultNames = { html: 'page.html', svg: 'picture.svg', react: 'component.jsx' } as const;

/** Tools that write whole files. Their input has the path and the content. */
const writingTools: ReadonlySet<string> = new Set(['write', 'write_file', 'create_file']);

interface FoundDocument {
  readonly name: string;
  readonly kind: ArtifactKind;
  readonly text: string;
}

// Finished parts and finished items never change, so each of them is searched once.
const knownDocuments = new WeakMap<Part, readonly FoundDocument[]>();
const knownArtifacts = new WeakMap<FoldState['items'] & object, readonly Artifact[]>();
const none: readonly Artifact[] = [];

/**
 * Returns the artifacts of a session: long code blocks of answers in HTML, SVG or JSX, and files of these
 * types that a tool has written. Documents with the same name are versions of one artifact. The list is the
 * same object until an item changes.
 */
export function artifactsOf({ state: { items } }: Pick<ChatSource, 'state'>): readonly Artifact[] {
  if (items === undefined) return none;
  const known = knownArtifacts.get(items);
  if (known !== undefined) return known;
  const found = collect(items);
  knownArtifacts.set(items, found);
  return found;
}

function collect(items: FoldState['items']): readonly Artifact[] {
  const all = toArray(items);
  const written = new Set(
    all.flatMap(({ parts }) =>
      parts.flatMap(({ part }) =>
        part?.kind === 'tool_result' && !part.isError ? [part.toolCallId as string] : [],
      ),
    ),
  );
  const byName = new Map<string, Artifact>();
  for (const { kind, parts, redacted } of all) {
    if (kind !== 'assistant' || redacted) continue;
    for (const { id, part } of parts) {
      if (part === undefined) continue;
      if (part.kind === 'tool_call' && !written.has(part.toolCallId)) continue;
      for (const [at, document] of documentsIn(part).entries())
        addVersion(byName, document, `${id} ${at}`);
    }
  }
  return byName.size === 0 ? none : [...byName.values()];
}

function addVersion(
  byName: Map<string, Artifact>,
  { name, kind, text }: FoundDocument,
  key: string,
): void {
  const known = byName.get(name);
  if (known === undefined && byName.size >= maxArtifacts) return;
  const versions = known?.versions ?? [];
  // If the text is the same again, it is not a new version.
  if (versions.at(-1)?.text === text) return;
  byName.set(name, { name, kind, versions: [...versions, { key, text }].slice(-maxVersions) });
}

function documentsIn(part: Part): readonly FoundDocument[] {
  const known = knownDocuments.get(part);
  if (known !== undefined) return known;
  const found = part.kind === 'text' ? blocksIn(part.text) : writtenFile(part);
  knownDocuments.set(part, found);
  return found;
}

function writtenFile(part: Part): readonly FoundDocument[] {
  if (part.kind !== 'tool_call' || !writingTools.has(part.name)) return [];
  const { input } = part;
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [];
  const fields = new Map<string, unknown>(Object.entries(input));
  const path = fields.get('path') ?? fields.get('file_path');
  const text = fields.get('content');
  if (typeof path !== 'string' || typeof text !== 'string' || text.length > maxLength) return [];
  const kind = kindOf(/\.(\w+)$/.exec(path)?.[1]);
  return kind === undefined ? [] : [{ name: path.slice(-maxName), kind, text }];
}

const maxName = 200;

/** Finds the complete code blocks that are artifacts. The fence of a block can have a name. */
function blocksIn(text: string): readonly FoundDocument[] {
  const found: FoundDocument[] = [];
  let open: { readonly fence: string; readonly info: string; readonly lines: string[] } | undefined;
  for (const line of text.split('\n')) {
    if (open === undefined) {
      const [, fence, info = ''] = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/.exec(line) ?? [];
      if (fence !== undefined) open = { fence, info: info.trimStart(), lines: [] };
    } else if (closes(line, open.fence)) {
      const document = documentOf(open.info, open.lines.join('\n'));
      if (document !== undefined) found.push(document);
      open = undefined;
    } else open.lines.push(line);
  }
  return found;
}

function closes(line: string, fence: string): boolean {
  const end = line.trim();
  return end.length >= fence.length && end === fence[0]?.repeat(end.length);
}

function documentOf(info: string, text: string): FoundDocument | undefined {
  const [language = '', ...more] = info.trim().split(/\s+/);
  const kind = kindOf(language);
  if (kind === undefined || !isDocument(text)) return undefined;
  const named = /^(?:(?:title|name|file(?:name)?)=)?"?([\w./ -]{1,200}?)"?$/.exec(
    more.join(' '),
  )?.[1];
  return { name: named?.trim() || defaultNames[kind], kind, text };
}

function isDocument(text: string): boolean {
  if (text.length > maxLength) return false;
  return text.length >= minLength || text.split('\n', minLines).length >= minLines;
}

function kindOf(extension: string | undefined): ArtifactKind | undefined {
  const name = extension?.toLowerCase() ?? '';
  return Object.hasOwn(kinds, name) ? kinds[name] : undefined;
}

/** Finds the version of an artifact that has this text. Returns undefined if there is no such version. */
export function findVersion(
  artifacts: readonly Artifact[],
  text: string,
): { readonly name: string; readonly at: number; readonly key: string } | undefined {
  for (const { name, versions } of artifacts.toReversed()) {
    const at = versions.findLastIndex((version) => version.text.trimEnd() === text.trimEnd());
    const version = versions[at];
    if (version !== undefined) return { name, at, key: version.key };
  }
  return undefined;
}
