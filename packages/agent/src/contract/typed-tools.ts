import type { AgentEvent, JsonValue, ToolCallId, ToolResultPart } from '@millrace/core';

/** The types of a tool. They exist only at compile time, so no value has this type at run time. */
export interface ToolTypes {
  /** The type of the input that the model writes: JSON that the schema accepts. */
  readonly input: unknown;
  /** The type of the input that the tool gets: the return type of the schema. */
  readonly parsed: unknown;
  /** The type of the result's `value`, which programs read. */
  readonly output: unknown;
  /** The type of the run context that the tool needs. `unknown` if the tool needs no context. */
  readonly context: unknown;
}

/** The fields of a tool that the types of runs, events and results depend on. */
export interface TypedTool {
  /** The name of the tool. */
  readonly name: string;
  /** The types of the tool. They exist only at compile time, and the field is never set. */
  readonly '~types'?: ToolTypes | undefined;
}

type TypesOf<T extends TypedTool> = Exclude<T['~types'], undefined>;

/** The type of a tool's input before validation, as the model writes it. */
export type ToolInput<T extends TypedTool> = TypesOf<T>['input'];

/** The validated input of a tool. */
export type ParsedToolInput<T extends TypedTool> = TypesOf<T>['parsed'];

/** The type of the value that a tool returns for programs. `undefined` for a tool that returns text. */
export type ToolValue<T extends TypedTool> = TypesOf<T>['output'];

/**
 * The type of the run context that all of these tools need. It is the intersection of their context types.
 */
export type ContextOfTools<Tools extends TypedTool> = (
  Tools extends TypedTool
    ? (context: TypesOf<Tools>['context']) => void
    : never
) extends (context: infer Context) => void
  ? Context
  : unknown;

/** The tools of an agent: the tools in its list, and the tools that functions in the list return. */
export type AllTools<Tools extends TypedTool, Dynamic extends TypedTool> = [Dynamic] extends [never]
  ? Tools
  : [TypedTool] extends [Pick<Tools, 'name'>]
    ? Dynamic
    : Tools | Dynamic;

/** A call that waits for the approval of a user. Check `name` to narrow the type of `input`. */
export type PendingApproval<Tools extends TypedTool = TypedTool> = Tools extends TypedTool
  ? {
      readonly toolCallId: ToolCallId;
      readonly name: Tools['name'];
      /** The input that the model wrote. The tool's schema accepts it. */
      readonly input: ToolInput<Tools>;
      /** The reason why the policy requires an approval, if it gave one. */
      readonly reason?: string | undefined;
      /** The rule for a standing approval of this call and similar calls. */
      readonly rule?: string | undefined;
    }
  : never;

/** A call that a client has to run. Check `name` to narrow the types of `input` and of the output. */
export type PendingToolCall<Tools extends TypedTool = TypedTool> = Tools extends TypedTool
  ? {
      readonly toolCallId: ToolCallId;
      readonly name: Tools['name'];
      /** The input of the call. The tool's schema accepts it. */
      readonly input: ToolInput<Tools>;
      /** The type of the output. It exists only at compile time, and the field is never set. */
      readonly '~output'?: ToolValue<Tools>;
    }
  : never;

/**
 * A tool call of a run with its result. If `ok` is true, check `name` to narrow the types of `input` and
 * `value`.
 */
export type ToolCall<Tools extends TypedTool = TypedTool> = FinishedCall<Tools> | FailedCall;

type FinishedCall<Tools extends TypedTool> = Tools extends TypedTool
  ? {
      /** True means that the tool ran and reported no error. */
      readonly ok: true;
      readonly toolCallId: ToolCallId;
      readonly name: Tools['name'];
      /** The input that the model wrote. */
      readonly input: ToolInput<Tools>;
      /** The text that the model got. */
      readonly text: string;
      /** The value for programs. Undefined if the tool returned text, or if its output was clipped. */
      readonly value?: ToolValue<Tools> | undefined;
    }
  : never;

interface FailedCall {
  /** False means that the tool did not run, or that it reported an error. */
  readonly ok: false;
  readonly toolCallId: ToolCallId;
  /** The name in the call. It can be any text, because a model can call tools that do not exist. */
  readonly name: string;
  /** The input of the call. Undefined if the arguments are not valid JSON. */
  readonly input?: JsonValue | undefined;
  /** The error text that the model got. */
  readonly text: string;
  readonly value?: JsonValue | undefined;
}

/** The `tool_call_ready` event of a tool, with a typed input. */
export type ToolCallEvent<Name extends string, Input> = Extract<
  AgentEvent,
  { readonly type: 'tool_call_ready' }
> & { readonly name: Name; readonly input: Input };

/** The `part_finished` event with the result of a tool, with a typed value. */
export type ToolResultEvent<Name extends string, Value> = Omit<
  Extract<AgentEvent, { readonly type: 'part_finished' }>,
  'kind' | 'part'
> & {
  readonly kind: 'tool_result';
  readonly part: Omit<ToolResultPart, 'name' | 'isError' | 'value'> & {
    readonly name: Name;
    readonly isError: false;
    readonly value?: JsonOf<Value>;
  };
};

type JsonOf<Value> = Value extends JsonValue ? Value : never;

/**
 * An event of a run. It is an `AgentEvent` with two narrower types: `structured_updated` has the partial type
 * of the `output` schema, and `approval_asked` has the names of the tools.
 */
export type RunEvent<Live = JsonValue, Tools extends TypedTool = TypedTool> =
  | Exclude<AgentEvent, TypedEvent>
  | (Omit<Extract<AgentEvent, { readonly type: 'structured_updated' }>, 'value'> & {
      readonly value: Live;
    })
  | (Omit<Extract<AgentEvent, { readonly type: 'approval_asked' }>, 'name'> & {
      readonly name: Tools['name'];
    });

type TypedEvent = { readonly type: 'structured_updated' } | { readonly type: 'approval_asked' };

/**
 * The type of a JSON value while it streams. Fields can be missing, and lists and texts can be incomplete. A
 * text that must finally be one of several fixed texts can therefore be any text.
 */
export type DeepPartial<T> = unknown extends T
  ? JsonValue
  : T extends string
    ? string
    : T extends number | boolean | null
      ? T
      : T extends readonly (infer Element)[]
        ? readonly DeepPartial<Element>[]
        : T extends Date | ((...given: never) => unknown)
          ? JsonValue
          : T extends object
            ? { readonly [Key in keyof T]?: DeepPartial<Exclude<T[Key], undefined>> }
            : JsonValue;

/**
 * The same type as `T`, but the compiler does not infer `T` at this place. The built-in `NoInfer` exists only
 * since TypeScript 5.4.
 */
export type NotInferred<T> = [T][T extends unknown ? 0 : never];
