import { AgentError, type DefinedTool, defineTool, type ToolOutput } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import { z } from 'zod';
import type { VectorMatch, VectorStore } from '../contract/vector-store.ts';
import { assertKnownOptions } from '../known-options.ts';
import {
  definedOnly,
  type EmbedTexts,
  type MemoryToolOptions,
  scopeOf,
  searcher,
} from './memory-tool.ts';

/** Options of `retrievalTool`. */
export interface RetrievalToolOptions extends Omit<MemoryToolOptions, 'minSimilarity'> {
  /** The minimum similarity of passages in a search result, from -1 to 1. Default: 0. */
  readonly minSimilarity?: number | undefined;
  /** A text that tells the model the topic of the documents. Default: a general sentence. */
  readonly description?: string | undefined;
}

/** The input that the model sends. */
export interface RetrievalInput {
  readonly query: string;
}

const input = z.strictObject({
  query: z.string().min(1).max(2_000).describe('What you want to know, as a sentence or question'),
});

const generalDescription =
  'Searches a collection of documents by meaning and returns the passages that fit best. Use it before you answer a question that the documents may answer. Name the document that an answer comes from.';

/**
 * Creates a tool that finds passages of documents by their meaning. Add documents with `addDocuments`.
 *
 * @example
 * const search = retrievalTool({ store, scope: 'handbook', embed: (texts, options) => embed(model, texts, options) });
 */
export function retrievalTool(options: RetrievalToolOptions): DefinedTool<string, RetrievalInput> {
  assertKnownOptions('retrievalTool', options, {
    ...{ store: true, embed: true, scope: true, limit: true, minSimilarity: true },
    ...{ name: true, description: true },
  });
  const { name = 'search_documents', description = generalDescription } = options;
  const search = searcher('retrievalTool', { minSimilarity: 0, ...definedOnly(options) });
  return defineTool({
    name,
    description,
    input,
    effects: 'none',
    afterCrash: 'repeat',
    summarize: ({ query }) => `Search: ${query.split('\n')[0]?.slice(0, 200)}`,
    execute: async ({ query }, context) =>
      passagesAsOutput(await search(scopeOf(options.scope, context), query, context.signal)),
  });
}

function passagesAsOutput(matches: readonly VectorMatch[]): ToolOutput {
  const value = matches.map(({ id, text, document = id, metadata = {}, similarity }) => {
    return { document, text, metadata, similarity };
  });
  if (matches.length === 0) return { output: { text: 'Nothing found.', value } };
  const passages = value.map(({ document, text }, at) => `[${at + 1}] ${document}\n${text}`);
  return { output: { text: passages.join('\n\n'), value } };
}

/** A document that `retrievalTool` can search. */
export interface SourceDocument {
  /** The name of the document for the model, for example a path or a URL. It must be unique in its scope. */
  readonly id: string;
  readonly text: string;
  /** Data of the application. Default: none. */
  readonly metadata?: JsonObject | undefined;
}

/** Options of `addDocuments`. */
export interface AddDocumentsOptions {
  readonly store: VectorStore;
  readonly embed: EmbedTexts;
  /** The scope to which the documents belong. Use the same scope for the tool. */
  readonly scope: string;
  /** Maximum length of a passage, in UTF-16 units. Default: 1500. */
  readonly maxPassageLength?: number | undefined;
  /** Aborts the requests for embeddings. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Splits documents into passages and stores them. A document with the same id is replaced. An empty document
 * is deleted. Each document is stored atomically. If an error occurs, the documents before it stay stored.
 *
 * @example
 * await addDocuments([{ id: 'returns.md', text }], { store, scope: 'handbook', embed });
 */
export async function addDocuments(
  documents: Iterable<SourceDocument> | AsyncIterable<SourceDocument>,
  options: AddDocumentsOptions,
): Promise<void> {
  assertKnownOptions('addDocuments', options, {
    ...{ store: true, embed: true, scope: true, maxPassageLength: true, signal: true },
  });
  const { store, embed, scope, maxPassageLength = 1500, signal } = options;
  if (!Number.isSafeInteger(maxPassageLength) || maxPassageLength < 100) {
    const message = `Cannot use ${maxPassageLength} as maxPassageLength: use a whole number of 100 or more`;
    throw new AgentError('bad_option', message, { of: 'addDocuments', option: 'maxPassageLength' });
  }
  for await (const { id, text, metadata } of documents) {
    signal?.throwIfAborted();
    const passages = splitPassages(text.toWellFormed(), maxPassageLength);
    const vectors = passages.length === 0 ? [] : (await embed(passages, { signal })).vectors;
    const entries = passages.map((passage, at) => ({
      ...{ id: `${id}#${at + 1}`, scope, document: id, text: passage },
      vector: vectors[at] ?? [],
      ...(metadata === undefined ? {} : { metadata }),
    }));
    await store.replaceDocument(scope, id, entries);
  }
}

/** The separators after which a passage may end, the preferred one first. */
const breaks = ['\n\n', '\n', '. ', ' '];

/**
 * Splits a text at paragraphs, lines, sentences or words, in this order of preference. No passage is longer
 * than the maximum, and no passage is blank. Together the passages contain all words of the text.
 */
export function splitPassages(text: string, maxLength: number): readonly string[] {
  const passages: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end =
      at + maxLength >= text.length ? text.length : at + lengthOfPassage(text, at, maxLength);
    const passage = text.slice(at, end).trim();
    if (passage !== '') passages.push(passage);
    at = end;
  }
  return passages;
}

/**
 * Returns the length of the next passage. It ignores separators in the first half, because the passage would
 * be too short. Without a separator, it cuts the text between two characters.
 */
function lengthOfPassage(text: string, start: number, maxLength: number): number {
  const window = text.slice(start, start + maxLength);
  for (const mark of breaks) {
    const at = window.lastIndexOf(mark);
    if (at >= maxLength / 2) return at + mark.length;
  }
  const isPair = /[\uD800-\uDBFF]$/.test(window);
  return isPair ? maxLength - 1 : maxLength;
}
