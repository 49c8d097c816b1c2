import { useKey } from '../../app/use-key.ts';
import { Button } from '../../design/button.tsx';
import { escaped } from '../tool/text-runs.ts';
import { useArmed } from './use-armed.ts';

export interface ChooseBarProps {
  readonly rule: string | undefined;
  readonly isOff: boolean;
  readonly onAllow: () => void;
  readonly onAllowSession: () => void;
  readonly onChange: () => void;
  readonly onDeny: () => void;
}

/** The answers. What lets something run can be given only when the question was seen. */
export function ChooseBar(props: ChooseBarProps) {
  const { rule, isOff, onAllow, onAllowSession, onChange, onDeny } = props;
  const isArmed = useArmed();
  const isAllowOff = isOff || !isArmed;
  useKey('alt+y', () => {
    if (!isAllowOff) onAllow();
  });
  useKey('alt+n', () => {
    if (!isOff) onDeny();
  });
  return (
    <div className="approval-bar">
      <Button look="main" disabled={isAllowOff} onClick={onAllow} title="Alt+Y">
        Allow
      </Button>
      {rule !== undefined && (
        <Button
          disabled={isAllowOff}
          title={`All that is asked by: ${escaped(rule)}`}
          onClick={onAllowSession}
        >
          Allow in this session
        </Button>
      )}
      <Button disabled={isOff} onClick={onChange}>
        Change the input
      </Button>
      <Button look="danger" disabled={isOff} onClick={onDeny} title="Alt+N">
        Deny
      </Button>
    </div>
  );
}
