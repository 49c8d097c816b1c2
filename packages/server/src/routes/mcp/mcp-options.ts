import type { FormAnswer } from '@millrace/agent';
import type { FormQuestion, JsonObject } from '@millrace/core';

/**
 * What the MCP endpoint `/mcp` offers in addition to the agents and their sessions. Callers with a token for one
 * agent or one task get no prompts and no resources.
 */
export interface McpOptions {
  /** A text for the model of the client about this server. Default: none. */
  readonly instructions?: string | undefined;
  /** Templates of messages, for example slash commands. Default: none. */
  readonly prompts?: readonly McpPrompt[] | undefined;
  /** Files and other data. The sessions are offered in any case. Default: none. */
  readonly resources?: readonly McpResource[] | undefined;
}

/** A template of messages that the user of a client can choose. */
export interface McpPrompt {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** The arguments of the template. Default: none. */
  readonly arguments?: readonly McpPromptArgument[] | undefined;
  /** Returns the text of the message, or messages in the format of MCP. */
  get(
    args: Readonly<Record<string, string>>,
    reader: McpReader,
  ): Promise<string | readonly JsonObject[]>;
}

/** An argument of a prompt. */
export interface McpPromptArgument {
  readonly name: string;
  readonly description?: string | undefined;
  /** Default: false. */
  readonly required?: boolean | undefined;
  /** Returns values that start with the text. Default: none. */
  complete?(text: string, reader: McpReader): Promise<readonly string[]>;
}

/** A resource, or a template of resources. */
export interface McpResource {
  /** The address, or a template such as `docs://{page}/data`. */
  readonly uri: string;
  readonly name: string;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  /** Reads the resource. `values` has the parts of the template. */
  read(values: Readonly<Record<string, string>>, reader: McpReader): Promise<string | Uint8Array>;
  /**
   * Yields a value after each change of the resource, until the signal is aborted. Clients can then follow the
   * resource. Default: clients cannot follow it.
   */
  watch?(
    values: Readonly<Record<string, string>>,
    reader: McpReader,
    signal: AbortSignal,
  ): AsyncIterable<unknown>;
}

/** The caller for whom the application reads a resource or a prompt. */
export interface McpReader {
  /** The user that `authorize` returned. Undefined for a caller with a token for everything. */
  readonly user: string | undefined;
  /**
   * Asks the user of the client with a form. If the client has not sent the answer yet, the promise rejects, and
   * the function must not catch the error. When the answer has arrived, the function runs again from its start.
   * The function must therefore have no side effects before its last question. `get` of a prompt and `read` of a
   * resource can ask clients of version 2026-07-28 that can show forms. In all other cases the answer is `cancel`.
   */
  ask(question: McpQuestion): Promise<FormAnswer>;
}

/** A question of a prompt or a resource. The key connects the question with its answer. */
export type McpQuestion = FormQuestion & { readonly key: string };
