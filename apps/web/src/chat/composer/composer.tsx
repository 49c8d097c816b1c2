import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button, IconButton } from '../../design/button.tsx';
import { SendIcon, StopIcon } from '../../design/icons.tsx';
import { errorText } from '../../server/api.ts';
import { drafts, useDraft } from './draft.ts';
import './composer.css';

type SendWhen = 'steer' | 'follow_up';

interface ComposerProps {
  /** What the draft is kept under. */
  readonly draftKey: string;
  readonly placeholder: string;
  readonly isRunning?: boolean;
  /** What is said while it runs can join the next request. */
  readonly canSteer?: boolean;
  /** What was said last is still being accepted; nothing else can be said meanwhile. */
  readonly isBusy?: boolean | undefined;
  /** What was typed stays until it resolves: somebody else has it then. */
  readonly onSend: (text: string, when: SendWhen) => Promise<void>;
  readonly onStop?: (() => Promise<void>) | undefined;
  readonly children?: ReactNode;
  /** It gets the focus whenever this becomes another. */
  readonly focusKey?: string | undefined;
}

/** Where one says something. What nobody took over stays in it. */
export function Composer(props: ComposerProps) {
  const {
    draftKey,
    placeholder,
    isRunning = false,
    canSteer = false,
    isBusy = false,
    onStop,
    focusKey,
  } = props;
  const [text, setText] = useDraft(draftKey);
  const [error, setError] = useState<string>();
  const hintId = useId();
  const input = useRef<HTMLTextAreaElement>(null);
  // A phone would bring up its keyboard, and hide half of what one came to see.
  useEffect(() => {
    if (focusKey !== undefined && !matchMedia('(pointer: coarse)').matches) input.current?.focus();
  }, [focusKey]);
  const isEmpty = text.trim() === '';
  // Of what it says, nothing is true any more when it runs again or has ended.
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  useEffect(() => setError(undefined), [isRunning, draftKey]);
  const showErrorOf = (work: Promise<void>) =>
    void work.then(
      () => setError(undefined),
      (reason: unknown) => setError(errorText(reason)),
    );
  const send = (when: SendWhen) => {
    if (isEmpty || isBusy) return;
    const accepted = props.onSend(text.trim(), when);
    // What was typed meanwhile is another message.
    showErrorOf(accepted.then(() => void (drafts.read(draftKey) === text && setText(''))));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    const isSteerKey = event.ctrlKey || event.metaKey;
    send(isRunning && canSteer && isSteerKey ? 'steer' : 'follow_up');
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send('follow_up');
      }}
    >
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
      <div className="composer-box">
        <textarea
          ref={input}
          rows={1}
          value={text}
          dir="auto"
          readOnly={isBusy}
          placeholder={placeholder}
          aria-label="Message"
          aria-describedby={hintId}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <div className="composer-bar">
          <div className="composer-more">{props.children}</div>
          {isRunning && onStop && (
            <Button look="danger" onClick={() => showErrorOf(onStop())}>
              <StopIcon /> Stop
            </Button>
          )}
          {isRunning && canSteer && (
            <Button
              disabled={isEmpty || isBusy}
              title="Joins the next request (Ctrl+Enter)"
              onClick={() => send('steer')}
            >
              Steer
            </Button>
          )}
          {isRunning && canSteer ? (
            <Button
              look="main"
              type="submit"
              disabled={isEmpty || isBusy}
              title="Waits for the end (Enter)"
            >
              Queue
            </Button>
          ) : (
            <IconButton look="main" type="submit" label="Send" disabled={isEmpty || isBusy}>
              <SendIcon />
            </IconButton>
          )}
        </div>
      </div>
      <p className="composer-hint" id={hintId}>
        {isBusy ? 'Sending …' : hintFor(isRunning, canSteer)}
      </p>
    </form>
  );
}

function hintFor(isRunning: boolean, canSteer: boolean): string {
  if (!isRunning) return 'Enter sends, Shift+Enter begins a line';
  return canSteer
    ? 'Enter queues it, Ctrl+Enter steers what goes on, Esc stops'
    : 'It answers one message after the other; Esc stops it';
}
