import { type JsonValue, parseJson, type ToolCallPart } from '@millrace/core';
import type { FormEvent } from 'react';
import { Button } from '../../design/button.tsx';
import { escaped } from '../tool/text-runs.ts';

export interface ChangeFormProps {
  readonly call: ToolCallPart;
  readonly isOff: boolean;
  /** What was written here before. */
  readonly text: string | undefined;
  readonly onText: (text: string) => void;
  readonly onBack: () => void;
  readonly onError: (error: string | undefined) => void;
  readonly onInput: (input: JsonValue) => void;
}

/** Another input, as JSON. */
export function ChangeForm(props: ChangeFormProps) {
  const { call, isOff, onText, onBack, onError, onInput } = props;
  const text = props.text ?? textOf(call);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parseJson(text);
    if (!parsed.ok) return onError(`This is not JSON: ${parsed.failure.message}`);
    onError(undefined);
    onInput(parsed.value);
  };
  return (
    <form className="approval-form" onSubmit={submit}>
      <textarea
        aria-label="Input as JSON"
        className="approval-json"
        spellCheck={false}
        rows={Math.min(14, text.split('\n').length + 1)}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: it was asked for by a press of a button
        autoFocus
        onChange={(event) => onText(event.target.value)}
      />
      <div className="approval-bar">
        <Button
          look="main"
          type="submit"
          disabled={isOff}
          // The second of two clicks was meant for what was here before.
          onClick={(event) => event.detail > 1 && event.preventDefault()}
        >
          Allow with this input
        </Button>
        <Button look="quiet" onClick={onBack}>
          Back
        </Button>
      </div>
    </form>
  );
}

/** In JSON an escape says the same as what one cannot see, which is so in its strings alone. */
function textOf({ input, arguments: text }: ToolCallPart): string {
  return input === undefined ? text : escaped(JSON.stringify(input, null, 2));
}
