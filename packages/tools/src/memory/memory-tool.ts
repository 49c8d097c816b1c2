import {
  AgentError,
  type DefinedTool,
  defineTool,
  type ToolContext,
  type ToolOutput,
} from '@millrace/agent';
import { z } from 'zod';
import type { VectorMatch, VectorStore } from '../contract/vector-store.ts';
import { assertKnownOptions } from '../known-options.ts';

/**
 * Converts texts to vectors. With `@millrace/providers/media`, use `(texts, options) => embed(model,
 * texts, options)`.
 */
export type EmbedTexts = (
  texts: readonly string[],
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<{ readonly vectors: readonly (readonly number[])[] }>;

/**
 * The owner of the entries that a tool uses. It is a text, or a function of the tool context. The model
 * cannot change it.
 */
export type ToolScope = string | ((context: ToolContext) => string);

/** Options of `memoryTool`. */
export interface MemoryToolOptions {
  readonly store: VectorStore;
  /** Converts texts to vectors. All texts in a store must use the same embedding model. */
  readonly embed: EmbedTexts;
  /** The owner of the memories that the tool uses, for example the id of the user. */
  readonly scope: ToolScope;
  /** Maximum number of memories that a search returns. Default: 5. */
  readonly limit?: number | undefined;
  /** The minimum similarity of memories in a search result, from -1 to 1. Default: 0.2. */
  readonly minSimilarity?: number | undefined;
  /** Name of the tool. Default: `memory`. */
  readonly name?: string | undefined;
}

/** The input that the model sends. */
export interface MemoryInput {
  readonly action: 'save' | 'search' | 'forget';
  /** The text to save, the text to search for, or the id of the memory to delete. */
  readonly text: string;
}

const input = z.strictObject({
  action: z.enum(['save', 'search', 'forget']).describe('What to do'),
  text: z
    .string()
    .min(1)
    .max(8_000)
    .describe(
      'save: one fact, complete by itself. search: what you want to know. forget: the id of a memory, from a search',
    ),
});

const description =
  'Your long-term memory. It survives this conversation. Save facts that will matter later, such as preferences and decisions, one fact at a time. Search before you ask for something that you may have been told. Forget what is no longer true. Do not save secrets.';

/**
 * Creates a tool that saves, finds and deletes facts over many sessions. Saving is safe to repeat: a call
 * that runs again after a crash writes the same memory.
 *
 * @example
 * const memory = memoryTool({ store, scope: userId, embed: (texts, options) => embed(model, texts, options) });
 */
export function memoryTool(options: MemoryToolOptions): DefinedTool<string, MemoryInput> {
  assertKnownOptions('memoryTool', options, {
    ...{ store: true, embed: true, scope: true, limit: true, minSimilarity: true, name: true },
  });
  const { store, name = 'memory' } = options;
  const search = searcher('memoryTool', { minSimilarity: 0.2, ...definedOnly(options) });
  return defineTool({
    name,
    description,
    input,
    effects: 'external',
    afterCrash: 'repeat',
    summarize: ({ action, text }) => `${titles[action]}: ${text.split('\n')[0]?.slice(0, 200)}`,
    execute: async ({ action, text }, context) => {
      const scope = scopeOf(options.scope, context);
      switch (action) {
        case 'save': {
          const vector = await vectorOf(options.embed, text, context.signal);
          const id = await memoryId(context);
          await store.put([{ id, scope, text: text.toWellFormed(), vector }]);
          return { output: { text: `Saved as ${id}.`, value: { id } } };
        }
        case 'search':
          return memoriesAsOutput(await search(scope, text, context.signal));
        case 'forget': {
          const removed = await store.remove(scope, [text.trim()]);
          if (removed > 0) return { output: { text: 'Forgotten.', value: { removed } } };
          const problem = 'There is no memory with this id. Search for it first.';
          return { output: { text: problem, value: { removed }, isError: true } };
        }
      }
    },
  });
}

const titles: { readonly [Action in MemoryInput['action']]: string } = {
  save: 'Remember',
  search: 'Search the memory',
  forget: 'Forget',
};

/**
 * Returns the id of a memory. A repeated call gets the same id. The id is short enough for the model to
 * repeat it.
 */
async function memoryId({ session, turn, toolCallId }: ToolContext): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([session, turn, toolCallId]));
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return `m_${[...hash.subarray(0, 10)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function memoriesAsOutput(matches: readonly VectorMatch[]): ToolOutput {
  const value = matches.map(({ id, text, similarity }) => ({ id, text, similarity }));
  if (matches.length === 0) return { output: { text: 'Nothing found.', value } };
  return { output: { text: matches.map(({ id, text }) => `[${id}] ${text}`).join('\n'), value } };
}

/** The search options that several tools share. */
export interface SearchOptions {
  readonly store: VectorStore;
  readonly embed: EmbedTexts;
  readonly limit?: number | undefined;
  readonly minSimilarity?: number | undefined;
}

/** Creates the search function of a tool. Throws `bad_option` for invalid numbers. */
export function searcher(
  of: string,
  { store, embed, limit = 5, minSimilarity = -1 }: SearchOptions,
): (scope: string, query: string, signal: AbortSignal) => Promise<readonly VectorMatch[]> {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 100) {
    const message = `Cannot use ${limit} as limit of ${of}: use a whole number from 1 to 100`;
    throw new AgentError('bad_option', message, { of, option: 'limit' });
  }
  if (!(minSimilarity >= -1 && minSimilarity <= 1)) {
    const message = `Cannot use ${minSimilarity} as minSimilarity of ${of}: use a number from -1 to 1`;
    throw new AgentError('bad_option', message, { of, option: 'minSimilarity' });
  }
  return async (scope, query, signal) => {
    const vector = await vectorOf(embed, query, signal);
    const matches = await store.search({ scope, vector, limit });
    return matches.filter(({ similarity }) => similarity >= minSimilarity);
  };
}

async function vectorOf(
  embed: EmbedTexts,
  text: string,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const { vectors } = await embed([text.toWellFormed()], { signal });
  return vectors[0] ?? [];
}

/** Returns the scope of a call. */
export function scopeOf(scope: ToolScope, context: ToolContext): string {
  return typeof scope === 'function' ? scope(context) : scope;
}

/** Removes fields whose value is undefined, because they would override defaults. */
export function definedOnly<Value extends object>(value: Value): Value {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields) as Value;
}
