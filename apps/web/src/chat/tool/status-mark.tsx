import { AlertIcon, CheckIcon, CrossIcon, ShieldIcon, StopIcon } from '../../design/icons.tsx';
import type { CallStatus } from './call-status.ts';

/** The words are beside it. */
export function StatusMark({ status }: { readonly status: CallStatus }) {
  return (
    <span className="status-mark" data-status={status} aria-hidden="true">
      <Mark status={status} />
    </span>
  );
}

function Mark({ status }: { readonly status: CallStatus }) {
  switch (status) {
    case 'asking':
      return <ShieldIcon />;
    case 'done':
      return <CheckIcon />;
    case 'failed':
      return <AlertIcon />;
    case 'stopped':
      return <StopIcon />;
    case 'rejected':
      return <CrossIcon />;
    case 'writing':
    case 'waiting':
    case 'running':
      return <span className="spinner" />;
  }
}
