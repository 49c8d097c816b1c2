import { disguisesInCall, type ToolCallPart } from '@millrace/core';
import type { Labels } from '../../labels/labels.ts';
import { countText } from '../../labels/use-labels.ts';
import { textRuns, VisibleText } from '../content/visible-text.tsx';
import { InputView } from '../tool/input-view.tsx';

/** Maximum length of an input that is shown in full. A longer one would freeze the page. */
const maxLength = 500_000;
/** Maximum number of lines and escape sequences. The page creates one element for each of them. */
const maxPieces = 20_000;

/** Facts about the input of a call, for the approval card. */
export interface InputFacts {
  /** Changes when the input changes. */
  readonly key: string;
  /**
   * The reason why the user cannot allow the call with this input. Undefined if the user can allow
   * it.
   */
  readonly refusal: string | undefined;
  /** False if the input is too long to show it in full. */
  readonly isWhole: boolean;
}

/** Returns the data about an input, including whether the page can show it in full. */
export function inputFacts(call: ToolCallPart, t: Labels): InputFacts {
  const { input, arguments: text } = call;
  const key = input === undefined ? text : JSON.stringify(input);
  if (key.length > maxLength || piecesOf(call) > maxPieces) {
    return { key, isWhole: false, refusal: t.inputTooLong(countText(t, key.length)) };
  }
  return {
    key,
    isWhole: true,
    refusal: input === undefined ? t.inputUnusable(text === '') : undefined,
  };
}

function piecesOf({ input, arguments: text }: ToolCallPart): number {
  const shown = input === undefined ? text : JSON.stringify(input, null, 1);
  const escapes = shown.match(/\n|\\[bfnru]/g)?.length ?? 0;
  return escapes + textRuns(shown, disguisesInCall).length;
}

interface RequestedInputProps {
  readonly call: ToolCallPart;
  readonly facts: InputFacts;
  readonly reason: string | undefined;
}

/** Shows the reason for the request, and all fields of the input. */
export function RequestedInput({ call, facts, reason }: RequestedInputProps) {
  const { name, input, arguments: text } = call;
  const hasInput = input !== undefined || text !== '';
  return (
    <>
      {reason !== undefined && (
        <p className="approval-reason">
          <VisibleText text={reason} escapes={disguisesInCall} />
        </p>
      )}
      <div className="approval-input">
        {facts.refusal !== undefined && <p className="input-note">{facts.refusal}</p>}
        {hasInput && (
          <InputView
            {...{ name, input, text, find: facts.isWhole ? disguisesInCall : undefined }}
          />
        )}
      </div>
    </>
  );
}
