import type { JsonValue } from '@millrace/core';
import type { ExtensionModel, ProviderChunk } from '@millrace/tools/extension';
import { z } from 'zod';

/** The data with which the worker of an extension starts. */
export interface WorkerStart {
  /** The real path of the file. */
  readonly path: string;
  readonly cwd: string;
  readonly isOfProject: boolean;
  /**
   * The SHA-256 digests of the files that the extension may import, by their real paths. Undefined for an
   * extension of the user, which may import all files.
   */
  readonly files?: Readonly<Record<string, string>> | undefined;
}

/** A message to the worker. `abort` ends the signal of a call. */
export type ToWorker =
  | {
      readonly type: 'call';
      readonly id: number;
      readonly kind: 'tool' | 'command' | 'render' | 'provider';
      readonly name: string;
      /** A JSON value: the input of a tool, the argument of a command, a result to render, or a request. */
      readonly input: unknown;
      /** The API key for a request of a provider. */
      readonly key?: string | undefined;
    }
  | { readonly type: 'abort'; readonly id: number };

/** What an extension has registered, without its functions. */
export interface Registered {
  readonly tools: {
    readonly name: string;
    readonly description: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly timeoutMs?: number | undefined;
  }[];
  readonly commands: {
    readonly name: string;
    readonly description: string;
    readonly argument?: string | undefined;
    readonly key?: string | undefined;
  }[];
  /** For each renderer, the names of its tools. */
  readonly renderers: string[][];
  readonly themes: { readonly name: string; readonly styles: Record<string, string> }[];
  readonly models: ExtensionModel[];
  readonly providers: {
    readonly name: string;
    readonly keyVariable?: string | undefined;
    readonly contextTokens?: number | undefined;
    readonly maxOutputTokens?: number | undefined;
  }[];
}

/** A message of the worker. */
export type FromWorker =
  | { readonly type: 'ready'; readonly registered: Registered }
  | { readonly type: 'failed'; readonly problem: string }
  | { readonly type: 'status'; readonly text: string }
  | { readonly type: 'chunk'; readonly id: number; readonly chunk: ProviderChunk }
  | { readonly type: 'answer'; readonly id: number; readonly value?: JsonValue | undefined }
  | {
      readonly type: 'error';
      readonly id: number;
      readonly problem: string;
      readonly status?: number | undefined;
    };

const toolName = z.string().regex(/^[\w-]{1,64}$/);
const plainName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/);
const text = (max: number) => z.string().max(max);
const listOf = <T extends z.ZodType>(one: T) => z.array(one).max(50);
const maxMs = 3_600_000;
const modelName = z.string().regex(/^[\w./:-]{1,100}$/);
const variable = z.string().regex(/^\w{1,100}$/);
const tokens = z.number().int().min(0);

const registeredSchema = z.strictObject({
  tools: listOf(
    z.strictObject({
      name: toolName,
      description: text(4000),
      input: z.looseObject({ type: z.literal('object') }),
      timeoutMs: z.number().int().min(1).max(maxMs).optional(),
    }),
  ),
  commands: listOf(
    z.strictObject({
      name: plainName,
      description: text(200),
      argument: text(60).optional(),
      key: z
        .string()
        .regex(/^(?:alt|ctrl)\+[a-z0-9]$/)
        .optional(),
    }),
  ),
  renderers: listOf(listOf(toolName)),
  themes: listOf(z.strictObject({ name: plainName, styles: z.record(z.string(), text(60)) })),
  models: listOf(
    z.strictObject({
      name: modelName,
      provider: z.enum(['compatible', 'openai', 'anthropic', 'gemini']).optional(),
      model: z.string().min(1).max(200),
      baseUrl: z.url({ protocol: /^https?$/ }).optional(),
      keyVariable: variable.optional(),
      contextTokens: tokens.min(1).optional(),
    }),
  ),
  providers: listOf(
    z.strictObject({
      name: modelName,
      keyVariable: variable.optional(),
      contextTokens: tokens.min(1).optional(),
      maxOutputTokens: tokens.min(1).optional(),
    }),
  ),
});

/** Maximum length of one chunk of an answer. */
const maxChunkLength = 4_000_000;

const chunkSchema: z.ZodType<ProviderChunk> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['text', 'reasoning']), text: text(maxChunkLength) }),
  z.strictObject({
    type: z.literal('tool_call'),
    id: text(200),
    name: text(200),
    arguments: text(maxChunkLength),
  }),
  z.strictObject({ type: z.literal('usage'), inputTokens: tokens, outputTokens: tokens }),
  z.strictObject({ type: z.literal('stop'), reason: z.enum(['length', 'content_filter']) }),
]);

/** Checks the messages of the worker, because an extension can register any value. */
export const fromWorkerSchema: z.ZodType<FromWorker> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('ready'), registered: registeredSchema }),
  z.strictObject({ type: z.literal('failed'), problem: text(4000) }),
  z.strictObject({ type: z.literal('status'), text: text(200) }),
  z.strictObject({ type: z.literal('chunk'), id: z.number(), chunk: chunkSchema }),
  z.strictObject({ type: z.literal('answer'), id: z.number(), value: z.json().optional() }),
  z.strictObject({
    type: z.literal('error'),
    id: z.number(),
    problem: text(4000),
    status: z.number().int().min(400).max(599).optional(),
  }),
]);
