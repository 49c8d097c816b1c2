import { McpError } from '../contract/mcp-error.ts';
import type { RemoteServer } from './server/call-tool.ts';
import type { Connection } from './server/connection.ts';
import { clip, describeError } from './transport/error-text.ts';

/** A prompt of an MCP server: a text that the user can send, with arguments. */
export interface McpPrompt {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly McpPromptArgument[];
}

/** An argument of a prompt. */
export interface McpPromptArgument {
  readonly name: string;
  readonly description?: string | undefined;
  readonly isRequired: boolean;
}

const maxPrompts = 500;
const maxArguments = 50;
const maxNameLength = 200;
const maxTextLength = 200_000;

/** The prompts of a server, from the last read of its list. */
export class RemotePrompts {
  readonly #remote: RemoteServer;
  #prompts: readonly McpPrompt[] = [];

  constructor(remote: RemoteServer) {
    this.#remote = remote;
  }

  get prompts(): readonly McpPrompt[] {
    return this.#prompts;
  }

  /** Reads the list. A server whose prompts cannot be read is still useful, so the problem is only reported. */
  async refresh(connection: Connection): Promise<void> {
    const { link, settings, report } = this.#remote;
    const signal = AbortSignal.any([link.closing, AbortSignal.timeout(settings.connectTimeoutMs)]);
    try {
      const listed = await connection.listPrompts(signal);
      this.#prompts = listed.slice(0, maxPrompts).map((prompt) => ({
        name: prompt.name,
        description: clip(prompt.description ?? prompt.title ?? '', settings.maxDescriptionLength),
        arguments: (prompt.arguments ?? []).slice(0, maxArguments).map((argument) => ({
          name: clip(argument.name, maxNameLength),
          description: argument.description && clip(argument.description, maxNameLength),
          isRequired: argument.required === true,
        })),
      }));
    } catch (error) {
      if (!link.closing.aborted) report(`its prompts cannot be read: ${describeError(error)}`);
    }
  }

  /** Returns the text of a prompt. Texts of the assistant are marked, and other content is described. */
  async get(name: string, given: Readonly<Record<string, string>>): Promise<string> {
    const { link, settings } = this.#remote;
    const limit = AbortSignal.any([link.closing, AbortSignal.timeout(settings.timeoutMs)]);
    try {
      const connection = await link.acquire(limit);
      const { messages } = await connection.getPrompt(name, given, limit);
      const texts = messages.map(({ role, content }) =>
        role === 'user' ? textOf(content) : `Assistant: ${textOf(content)}`,
      );
      return clip(texts.join('\n\n'), maxTextLength);
    } catch (error) {
      if (error instanceof McpError) throw error;
      throw this.#failed(name, describeError(error));
    }
  }

  #failed(name: string, why: string): McpError {
    const { server, redact } = this.#remote;
    const message = `Cannot use prompt ${name} of MCP server ${server}: ${clip(redact(why), 1_000)}`;
    return new McpError('prompt_failed', message, { server });
  }
}

type Content = Awaited<ReturnType<Connection['getPrompt']>>['messages'][number]['content'];

function textOf(content: Content): string {
  if (content.type === 'text') return content.text;
  if (content.type === 'resource' && 'text' in content.resource)
    return `[resource ${content.resource.uri}]\n${content.resource.text}`;
  return `[${content.type} left out]`;
}
