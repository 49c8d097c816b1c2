import type { JsonObject, JsonValue } from '@millrace/core';
import type { Step } from './conversation.ts';

/** The data that the tour has collected. It comes from real tool results. */
export interface Findings {
  readonly listing: FolderListing;
  /** The files that were read. */
  readonly read: readonly ReadFile[];
  /** The number of TODO and FIXME notes. Undefined if the tour did not search for them. */
  readonly reminders?: number | undefined;
  /** The name of a listed subfolder, and the number of its entries. */
  readonly inner?: { readonly name: string; readonly count: number } | undefined;
}

interface ReadFile {
  readonly name: string;
  readonly lines: number;
  readonly hasMore: boolean;
  readonly first: string;
  readonly text: string;
}

export function collectFindings(steps: readonly Step[]): Findings {
  const [first, second] = steps.filter(({ name, result }) => name === 'ls' && !result.isError);
  const grep = steps.find(({ name, result }) => name === 'grep' && !result.isError);
  const matches = fieldOf(grep?.result.value, 'matches');
  const inner = second && parseListing(second.result.text);
  return {
    listing: parseListing(first?.result.text ?? ''),
    read: steps.flatMap((step) => (step.name === 'read' ? parseReadResult(step) : [])),
    reminders: typeof matches === 'number' ? matches : undefined,
    inner: inner && {
      name: pathOf(second),
      count: inner.files.length + inner.folders.length,
    },
  };
}

function parseReadResult(step: Step): readonly ReadFile[] {
  const { text, isError } = step.result;
  if (isError) return [];
  // The `read` tool prints each line as a number, a tab and the text. All other lines are notes.
  const lines = text.split('\n').flatMap((line) => /^\d+\t(.*)$/.exec(line)?.[1] ?? []);
  const heading = lines.find((line) => /^#{1,3} \S/.test(line))?.replace(/^#+ /, '');
  const first = heading ?? lines.find((line) => /\p{L}/u.test(line))?.trim() ?? '';
  const shown = first.length > 60 ? `${first.slice(0, 59).toWellFormed()}…` : first;
  const hasMore = text.includes('More follow');
  return [
    { name: pathOf(step), lines: lines.length, hasMore, first: shown, text: lines.join('\n') },
  ];
}

function pathOf(step: Step): string {
  const path = fieldOf(step.input, 'path');
  return typeof path === 'string' ? path : '.';
}

function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  const isObject = typeof value === 'object' && value !== null;
  return isObject ? (value as JsonObject)[name] : undefined;
}

/** The content of a folder, parsed from the output of `ls`. */
interface FolderListing {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

const fileLine = /^(.+?) {2}\d[\d.]* (?:bytes?|[kMGT]B)$/;

function parseListing(text: string): FolderListing {
  const lines = text.split('\n');
  return {
    folders: lines.filter((line) => line.endsWith('/')).map((line) => line.slice(0, -1)),
    files: lines.flatMap((line) => fileLine.exec(line)?.[1] ?? []),
  };
}

/** Patterns for files that describe a folder, best first. */
const filePriority: readonly RegExp[] = [
  /^readme(?:\.|$)/i,
  /^(?:package\.json|cargo\.toml|pyproject\.toml|go\.mod|makefile|gemfile|pom\.xml)$/i,
  /\.(?:md|txt|rst|adoc)$/i,
  /\.(?:[cm]?[jt]sx?|py|rs|go|rb|java|kt|swift|c|h|cc|cpp|cs|php|sh|html|css|json|ya?ml|toml)$/i,
];

/** Matches files that the demo does not read, because they may contain secrets. */
const excludedFiles = /^\.|lock|secret|credential|password|token|\.(?:pem|key|env)$/i;

/** Selects the most informative files. */
export function filesToRead(files: readonly string[], most: number): readonly string[] {
  const rank = (name: string) => filePriority.findIndex((form) => form.test(name));
  return files
    .filter((name) => rank(name) !== -1 && !excludedFiles.test(name))
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, most);
}

/** Returns a subfolder to list. Returns undefined if none is suitable. */
export function folderToList(folders: readonly string[]): string | undefined {
  const usual = ['src', 'lib', 'packages', 'app', 'docs'];
  const named = usual.find((name) => folders.includes(name));
  const isPlain = (name: string) =>
    !/^\.|^(?:node_modules|target|dist|build|vendor|venv)$/.test(name);
  return named ?? folders.find(isPlain);
}
