import type { JsonObject, JsonValue } from '@millrace/core';

// These are the tools that a provider runs itself, in the format of its API. A request declares them together
// with the tools of the agent. Their calls and results are custom parts of the answer. For a tool that is not
// listed here, use `providerOptions: { openai: { tools: [ … ] } }`.

/** The user's location. A search prefers results near it. */
type UserLocation = {
  readonly type: 'approximate';
  readonly city?: string | null;
  readonly country?: string | null;
  readonly region?: string | null;
  readonly timezone?: string | null;
};

/** A tool with this `type`, and with any other fields that the API accepts. */
type Typed<Type extends string> = { readonly type: Type; readonly [field: string]: JsonValue };

/** A tool of the Responses API: a hosted tool, or a custom tool with plain text input. */
export type ResponsesTool =
  | {
      readonly type: 'web_search' | `web_search_${string}`;
      readonly search_context_size?: 'low' | 'medium' | 'high';
      readonly user_location?: UserLocation | null;
      readonly filters?: JsonObject | null;
      readonly search_content_types?: readonly ('text' | 'image')[];
      readonly enable_image_understanding?: boolean;
    }
  | {
      readonly type: 'file_search';
      readonly vector_store_ids: readonly string[];
      readonly max_num_results?: number;
      readonly filters?: JsonObject | null;
      readonly ranking_options?: JsonObject;
    }
  | {
      readonly type: 'mcp';
      readonly server_label: string;
      readonly server_url?: string;
      readonly connector_id?: string;
      readonly tunnel_id?: string;
      readonly server_description?: string;
      readonly authorization?: string;
      readonly headers?: Readonly<Record<string, string>> | null;
      readonly allowed_tools?: readonly string[] | JsonObject | null;
      readonly allowed_callers?: readonly ('direct' | 'programmatic')[] | null;
      readonly defer_loading?: boolean;
      /** The calls that need approval (see `mcpApprovalTool`). Default (set by the API): all calls. */
      readonly require_approval?: 'always' | 'never' | JsonObject | null;
    }
  | { readonly type: 'code_interpreter'; readonly container?: string | JsonObject }
  | Typed<'image_generation'>
  | { readonly type: 'shell'; readonly environment?: JsonObject | null }
  | { readonly type: 'local_shell' | 'apply_patch' | 'computer' | 'programmatic_tool_calling' }
  | {
      readonly type: 'computer_use_preview';
      readonly display_width: number;
      readonly display_height: number;
      readonly environment: 'windows' | 'mac' | 'linux' | 'ubuntu' | 'browser';
    }
  | {
      readonly type: 'tool_search';
      readonly execution?: 'server' | 'client';
      readonly description?: string | null;
      readonly parameters?: JsonObject | null;
    }
  | {
      readonly type: 'custom';
      readonly name: string;
      readonly description?: string;
      readonly format?: JsonObject;
      readonly defer_loading?: boolean;
      readonly allowed_callers?: readonly ('direct' | 'programmatic')[] | null;
    }
  | {
      readonly type: 'namespace';
      readonly name: string;
      readonly description: string;
      readonly tools: readonly JsonObject[];
    }
  /** Tools of xAI. */
  | Typed<'x_search' | 'collections_search' | 'code_execution' | 'view_image' | 'view_x_video'>
  /** Tools of OpenRouter. */
  | Typed<`openrouter:${string}`>;

/** A tool of Chat Completions: a custom tool with plain text input, or a tool that the server runs. */
export type ChatTool =
  | {
      readonly type: 'custom';
      readonly custom: {
        readonly name: string;
        readonly description?: string;
        readonly format?: JsonObject;
      };
    }
  /** Tools of Groq and OpenRouter. */
  | Typed<'browser_search' | 'code_interpreter' | `openrouter:${string}`>;

/** Fields that every tool of Anthropic has. */
type AnthropicToolFields = {
  readonly allowed_callers?: readonly string[];
  readonly cache_control?: JsonObject | null;
  readonly defer_loading?: boolean;
  readonly strict?: boolean;
};

/** A tool that Anthropic runs itself, or a tool whose format Anthropic defines and that the client runs. */
export type AnthropicTool =
  | (AnthropicToolFields & {
      readonly type: `web_search_${string}`;
      readonly name: 'web_search';
      readonly max_uses?: number | null;
      readonly allowed_domains?: readonly string[] | null;
      readonly blocked_domains?: readonly string[] | null;
      readonly user_location?: UserLocation | null;
    })
  | (AnthropicToolFields & {
      readonly type: `web_fetch_${string}`;
      readonly name: 'web_fetch';
      readonly max_uses?: number | null;
      readonly allowed_domains?: readonly string[] | null;
      readonly blocked_domains?: readonly string[] | null;
      readonly citations?: { readonly enabled: boolean } | null;
      readonly max_content_tokens?: number | null;
      readonly use_cache?: boolean;
    })
  | (AnthropicToolFields & {
      readonly type: `code_execution_${string}`;
      readonly name: 'code_execution';
    })
  | (AnthropicToolFields & {
      readonly type: `tool_search_tool_${string}`;
      readonly name: `tool_search_tool_${string}`;
    })
  | (AnthropicToolFields & {
      readonly type: `bash_${string}` | `text_editor_${string}` | `memory_${string}`;
      readonly name: string;
      readonly input_examples?: readonly JsonObject[];
      readonly max_characters?: number | null;
    })
  | (AnthropicToolFields & {
      readonly type: `computer_${string}`;
      readonly name: 'computer';
      readonly display_width_px: number;
      readonly display_height_px: number;
      readonly display_number?: number | null;
      readonly enable_zoom?: boolean;
      readonly input_examples?: readonly JsonObject[];
    })
  | {
      readonly type: 'mcp_toolset';
      readonly mcp_server_name: string;
      readonly configs?: JsonObject;
    }
  | Typed<`computer_toolset_${string}` | `browser_toolset_${string}` | `advisor_${string}`>;

/** A tool that Google runs. Each object has exactly one of the fields. */
export type GeminiTool = {
  readonly googleSearch?: JsonObject;
  readonly googleSearchRetrieval?: JsonObject;
  readonly enterpriseWebSearch?: JsonObject;
  readonly googleMaps?: JsonObject;
  readonly urlContext?: JsonObject;
  readonly codeExecution?: JsonObject;
  readonly fileSearch?: JsonObject;
  readonly retrieval?: JsonObject;
  readonly computerUse?: JsonObject;
  readonly mcpServers?: readonly JsonObject[];
};
