import type { JsonObject, JsonValue } from '@millrace/core';

/** The version of this API. An extension can export it as `apiVersion`. */
export const extensionApiVersion = 1;

/**
 * An extension of the terminal agent: the default export of a TypeScript file in `.millrace/extensions` or in
 * `~/.config/millrace/extensions`. It registers what it adds before it returns.
 *
 * @example const extension: Extension = (millrace) => millrace.status('Hello');
 */
export type Extension = (millrace: ExtensionApi) => void | Promise<void>;

/** The functions of an extension. Names that another extension has registered are refused. */
export interface ExtensionApi {
  readonly version: typeof extensionApiVersion;
  /** The folder of the session. */
  readonly cwd: string;
  /** True if the file belongs to the project, and not to the user. */
  readonly isOfProject: boolean;
  /** Adds a tool for the model. Each call needs an approval, unless a rule allows it. */
  tool(tool: ExtensionTool): void;
  /** Adds a slash command to the chat. */
  command(command: ExtensionCommand): void;
  /** Changes how the chat shows the results of tools. The model still gets the original result. */
  renderer(renderer: ExtensionRenderer): void;
  /** Shows a text in the status line. Undefined or an empty text removes it. It can be called at any time. */
  status(text: string | undefined): void;
  /** Adds a theme for `/theme`. */
  theme(theme: ExtensionTheme): void;
  /** Adds a model for `--model` and `/model`. Its server has an API that Millrace knows. */
  model(model: ExtensionModel): void;
  /** Adds a model for `--model` and `/model`. The extension itself sends the requests. */
  provider(provider: ExtensionProvider): void;
}

/** A tool for the model. */
export interface ExtensionTool {
  /** 1 to 64 letters, digits, `_` or `-`. Names of built-in tools are refused. */
  readonly name: string;
  /** The text that explains to the model what the tool does and when to use it. */
  readonly description: string;
  /** JSON Schema of the input. It must be an object. Default: an object without fields. */
  readonly input?: JsonObject | undefined;
  /** The time after which the call fails and the extension is stopped. Default: 120,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Runs the tool. A text goes to the model as it is, and other values as JSON. An error is a tool error. */
  execute(input: JsonObject, context: ExtensionCall): ExtensionResult | Promise<ExtensionResult>;
}

/** The result of a tool: a text or any JSON value. */
export type ExtensionResult = JsonValue | undefined;

/** The second argument of the functions of an extension. */
export interface ExtensionCall {
  /** The folder of the session. */
  readonly cwd: string;
  /** Aborts when the user stops the run. */
  readonly signal: AbortSignal;
}

/** A slash command of the chat. */
export interface ExtensionCommand {
  /** The name without a slash: lower-case letters, digits and `-`. Built-in commands have precedence. */
  readonly name: string;
  readonly description: string;
  /** The placeholder for the argument in `/help`. Default: no argument. */
  readonly argument?: string | undefined;
  /**
   * A key that runs the command, such as `alt+o` or `ctrl+o`: `alt` or `ctrl` with a letter or a digit. If the
   * command has an argument, it gets the text in the prompt. Keys of the chat are refused. Default: none.
   */
  readonly key?: string | undefined;
  /** Runs the command with the text after its name. */
  run(
    argument: string,
    context: ExtensionCall,
  ): ExtensionReply | undefined | Promise<ExtensionReply | undefined>;
}

/** What the chat does after a command. */
export interface ExtensionReply {
  /** A text to show. Default: none. */
  readonly print?: string | undefined;
  /** A message to send to the model. Default: none. */
  readonly send?: string | undefined;
  /** A text that replaces the text in the prompt. Default: the prompt stays as it is. */
  readonly prompt?: string | undefined;
}

/** Shows the results of some tools in another form. */
export interface ExtensionRenderer {
  /** The names of the tools. */
  readonly tools: readonly string[];
  /** Returns the text to show. Undefined shows the original result. */
  render(
    result: RenderedResult,
    context: ExtensionCall,
  ): string | undefined | Promise<string | undefined>;
}

/** The result of a tool call, for a renderer. */
export interface RenderedResult {
  readonly tool: string;
  readonly input: JsonValue;
  /** The text that the model gets. */
  readonly text: string;
}

/** The parts of the screen that a theme can change. */
export type ThemePart =
  | ('heading1' | 'heading' | 'strong' | 'emphasis' | 'code' | 'link' | 'marker' | 'muted')
  | ('keyword' | 'string' | 'number' | 'comment' | 'type' | 'function' | 'variable')
  | ('added' | 'removed' | 'hunk' | 'file');

/** A theme of the chat. */
export interface ExtensionTheme {
  /** Lower-case letters, digits and `-`. */
  readonly name: string;
  /**
   * The styles: `bold`, `dim`, `italic`, `underline`, and one color such as `red`, `bright-blue` or
   * `#b58900`, separated by spaces. Parts that are not named keep their style.
   */
  readonly styles: Readonly<Partial<Record<ThemePart, string>>>;
}

/** A model at a server with an API that Millrace knows. */
export interface ExtensionModel {
  /** The name for `--model` and `/model`. */
  readonly name: string;
  /** The API of the server. Default: `compatible`, the Chat Completions API. */
  readonly provider?: 'compatible' | 'openai' | 'anthropic' | 'gemini' | undefined;
  /** The name of the model at the server. */
  readonly model: string;
  readonly baseUrl?: string | undefined;
  /** The environment variable with the key. Default: the variable of the provider. */
  readonly keyVariable?: string | undefined;
  readonly contextTokens?: number | undefined;
}

/** A model whose requests the extension sends, for a server with an API that Millrace does not know. */
export interface ExtensionProvider {
  /** The name for `--model` and `/model`. */
  readonly name: string;
  /** The environment variable with the key. The extension gets its value in `key`. Default: none. */
  readonly keyVariable?: string | undefined;
  /** The size of the context window. Default: unknown. */
  readonly contextTokens?: number | undefined;
  /** The maximum length of an answer. Default: unknown. */
  readonly maxOutputTokens?: number | undefined;
  /**
   * Sends a request and yields the answer as it arrives. If it throws before the first chunk, Millrace handles
   * the error like an HTTP error with the number in `status` of the error. Default: 500, which Millrace retries.
   */
  stream(request: ProviderRequest, context: ProviderCall): AsyncIterable<ProviderChunk>;
}

/** A request to a model, in the form of the Chat Completions API. */
export interface ProviderRequest {
  /** The messages, with `role`, `content`, `tool_calls` and `tool_call_id`. */
  readonly messages: readonly JsonObject[];
  /** The tools, with their JSON Schema in `function.parameters`. Default: none. */
  readonly tools?: readonly JsonObject[] | undefined;
  /** Further fields, such as `max_tokens`, `reasoning_effort` and `response_format`. */
  readonly [field: string]: unknown;
}

/** The second argument of `stream`. */
export interface ProviderCall extends ExtensionCall {
  /** The value of the environment variable that `keyVariable` names. Undefined if it is not set. */
  readonly key: string | undefined;
}

/** A piece of an answer. */
export type ProviderChunk =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  /** A complete tool call. `arguments` is JSON. */
  | {
      readonly type: 'tool_call';
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number }
  /** The reason why the answer ended, if it was cut off. */
  | { readonly type: 'stop'; readonly reason: 'length' | 'content_filter' };
