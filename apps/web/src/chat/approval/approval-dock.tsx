import type { TaskHandle } from '@millrace/client';
import type { AskedApproval, ToolCallPart } from '@millrace/core';
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { ShieldIcon } from '../../design/icons.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import { type ChatSource, findCall, usePart, useSourceValue } from '../state/chat-source.ts';
import { InputView } from '../tool/input-view.tsx';
import { AnswerButtons, ChangeForm, DenyForm } from './answer-forms.tsx';
import './approval-dock.css';
import { Button } from '../../design/button.tsx';

const selectAsked = ({ state }: ChatSource) => state.asked;

/** Shows the calls that wait for an approval, one after the other. */
export function ApprovalDock({
  source,
  handle,
}: {
  readonly source: ChatSource;
  /** Undefined while the inspector shows an earlier moment. */
  readonly handle: TaskHandle | undefined;
}) {
  const asked = useSourceValue(source, selectAsked);
  const [first] = asked;
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    if (first === undefined && hadFocus.current) focusComposer();
    hadFocus.current = false;
  }, [first]);
  if (first === undefined) return null;
  const more = asked.length - 1;
  return (
    <ApprovalRequest key={first.toolCallId} {...{ source, handle, asked: first, more, hadFocus }} />
  );
}

/**
 * Moves the focus to the message field. On a phone this would open the keyboard and hide half of
 * the page.
 */
function focusComposer(): void {
  if (window.matchMedia('(pointer: coarse)').matches) return;
  document.querySelector<HTMLElement>('.composer textarea')?.focus();
}

interface ApprovalRequestProps {
  readonly source: ChatSource;
  readonly handle: TaskHandle | undefined;
  readonly asked: AskedApproval;
  readonly more: number;
  /**
   * True if the card that was removed had the focus. The next card or the message field then takes
   * it.
   */
  readonly hadFocus: RefObject<boolean>;
}

function ApprovalRequest({ source, handle, asked, more, hadFocus }: ApprovalRequestProps) {
  const { toolCallId } = asked;
  const read = useCallback((from: ChatSource) => findCall(from.state, toolCallId), [toolCallId]);
  const part = usePart(source, useSourceValue(source, read));
  const call = part?.kind === 'tool_call' ? part : unknownCall(asked);
  const card = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = card.current;
    if (hadFocus.current) element?.focus();
    hadFocus.current = false;
    return () => {
      if (element?.contains(document.activeElement)) hadFocus.current = true;
    };
  }, [hadFocus]);
  return <ApprovalCard {...{ asked, call, more, handle, card }} />;
}

/** A placeholder for a call that the log no longer contains, for example after a redaction. */
function unknownCall({ toolCallId, name }: AskedApproval): ToolCallPart {
  return { kind: 'tool_call', toolCallId, name, arguments: '' };
}

interface ApprovalCardProps {
  readonly asked: AskedApproval;
  readonly call: ToolCallPart;
  /** The number of further requests after this one. */
  readonly more: number;
  readonly handle: TaskHandle | undefined;
  /** The element of the card, for callers that move the focus. */
  readonly card: RefObject<HTMLElement | null>;
}

type Mode = 'choose' | 'change' | 'deny';

/** Asks whether a call may run: as it is, with another input, or not at all. */
function ApprovalCard({ asked, call, more, handle, card }: ApprovalCardProps) {
  const [mode, setMode] = useState<Mode>('choose');
  /**
   * Text that the user entered and did not send, for the case that the user returns to the form.
   */
  const [changed, setChanged] = useState<string>();
  const [error, setError] = useState<string>();
  const [isSent, setSent] = useState(false);
  const titleId = useId();
  const { toolCallId, name, reason, rule } = asked;
  // A focused button that disappears or is disabled would lose the focus. The card takes it
  // instead.
  const keepFocus = () => {
    if (card.current?.contains(document.activeElement)) card.current.focus();
  };
  const answer = (send: (to: TaskHandle) => Promise<unknown>) => {
    if (handle === undefined || isSent) return;
    keepFocus();
    setSent(true);
    send(handle).then(
      () => setError(undefined),
      (failure: unknown) => {
        setSent(false);
        setError(failure instanceof Error ? failure.message : String(failure));
      },
    );
  };
  const back = () => {
    keepFocus();
    setError(undefined);
    setMode('choose');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || mode === 'choose' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    back();
  };
  const isDisabled = handle === undefined || isSent;
  return (
    <section
      {...{ ref: card, className: 'approval', tabIndex: -1, onKeyDown }}
      aria-labelledby={titleId}
    >
      <header>
        <ShieldIcon />
        <h3 id={titleId}>
          Allow{' '}
          <code>
            <VisibleText text={name} />
          </code>
          ?
        </h3>
        {more > 0 && <span className="approval-more">{more} more after this</span>}
      </header>
      {mode !== 'change' && (
        <ScrollBody>
          {reason !== undefined && (
            <p className="approval-reason">
              <VisibleText text={reason} />
            </p>
          )}
          <RequestedInput call={call} />
        </ScrollBody>
      )}
      {mode === 'choose' && (
        <AnswerButtons
          {...{ rule, isDisabled }}
          onAllow={() => answer((to) => to.approve(toolCallId))}
          onAllowSession={() => answer((to) => to.approve(toolCallId, { until: 'session' }))}
          onChange={() => setMode('change')}
          onDeny={() => setMode('deny')}
        />
      )}
      {mode === 'change' && (
        <ChangeForm
          {...{
            call,
            isDisabled,
            text: changed,
            onText: setChanged,
            onError: setError,
            onBack: back,
          }}
          onInput={(input) => answer((to) => to.approve(toolCallId, { input }))}
        />
      )}
      {mode === 'deny' && (
        <DenyForm
          isDisabled={isDisabled}
          onBack={back}
          onDeny={(why) => answer((to) => to.deny(toolCallId, why === '' ? {} : { reason: why }))}
        />
      )}
      {handle === undefined && (
        <p className="approval-reason">This is an earlier moment. Go back to now to answer.</p>
      )}
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

/** Shows the complete input of the call, also if it is empty. */
function RequestedInput({
  call: { name, input, arguments: text },
}: Pick<ApprovalCardProps, 'call'>) {
  const hasNoInput = input === undefined && text === '';
  return (
    <div className="approval-input">
      {hasNoInput ? (
        <p className="input-note">The input of this call is not available.</p>
      ) : (
        <InputView name={name} input={input} text={text} />
      )}
    </div>
  );
}

/** A scroll area with a button that appears if there is more content below. */
function ScrollBody({ children }: { readonly children: ReactNode }) {
  const body = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [hasMore, setHasMore] = useState(false);
  useEffect(() => {
    const [box, inner] = [body.current, content.current];
    if (box === null || inner === null) return;
    const updateHasMore = () => setHasMore(box.scrollHeight - box.clientHeight - box.scrollTop > 4);
    const observer = new window.ResizeObserver(updateHasMore);
    for (const element of [box, inner]) observer.observe(element);
    box.addEventListener('scroll', updateHasMore);
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', updateHasMore);
    };
  }, []);
  const down = () => body.current?.scrollBy({ top: body.current.clientHeight * 0.8 });
  return (
    <div className="approval-body">
      <div className="approval-scroll" ref={body} tabIndex={hasMore ? 0 : undefined}>
        <div className="approval-content" ref={content}>
          {children}
        </div>
      </div>
      {hasMore && (
        <Button size="small" onClick={down}>
          More below
        </Button>
      )}
    </div>
  );
}
