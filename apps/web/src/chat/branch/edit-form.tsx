import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { errorText } from '../../server/api.ts';
import { drafts, useDraft } from '../composer/draft.ts';
import './edit-form.css';

interface EditFormProps {
  /** The key under which the changed text is stored, so that nothing typed is lost. */
  readonly draftKey: string;
  /** The text of the message. */
  readonly text: string;
  /** True if the message has files, so that its text can be empty. */
  readonly hasFiles: boolean;
  /** Sends the changed message. The form stays open if the promise rejects. */
  readonly onSend: (text: string) => Promise<void>;
  readonly onClose: () => void;
}

/**
 * The field in which the user changes a message, in the place of the message. A cancelled change is kept
 * and is there when the user edits the message again.
 */
export function EditForm({ draftKey, text: before, hasFiles, onSend, onClose }: EditFormProps) {
  const [stored, setStored] = useDraft(draftKey);
  const [isTouched, setTouched] = useState(false);
  const text = isTouched || stored !== '' ? stored : before;
  const [error, setError] = useState<string>();
  const [isSending, setSending] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);
  const isBlocked = isSending || (text.trim() === '' && !hasFiles);
  const submit = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault();
    if (isBlocked) return;
    setSending(true);
    onSend(text.trim()).then(
      () => drafts.write(draftKey, ''),
      (reason: unknown) => {
        setSending(false);
        setError(errorText(reason));
      },
    );
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) submit(event);
    if (event.key !== 'Escape') return;
    // Escape must not also stop the run.
    event.preventDefault();
    event.stopPropagation();
    onClose();
  };
  return (
    <form className="edit-form" onSubmit={submit}>
      <textarea
        ref={field}
        aria-label="Edit your message"
        aria-describedby={hintId}
        dir="auto"
        readOnly={isSending}
        value={text}
        onChange={(event) => {
          setTouched(true);
          setStored(event.target.value);
        }}
        onKeyDown={onKeyDown}
      />
      {error !== undefined && (
        <p className="composer-error" role="alert">
          {error}
        </p>
      )}
      <div className="edit-bar">
        <span className="edit-hint" id={hintId}>
          Enter sends in a new branch, Esc cancels
        </span>
        <Button size="small" look="quiet" onClick={onClose}>
          Cancel
        </Button>
        <Button size="small" look="main" type="submit" disabled={isBlocked}>
          Send
        </Button>
      </div>
    </form>
  );
}
