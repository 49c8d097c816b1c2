'use client';

export { lazyView } from '../on-demand/lazy-view.tsx';
export { Button, IconButton } from './button.tsx';
export { Dialog, type DialogProps } from './dialog.tsx';
export {
  AlertIcon,
  ArchiveIcon,
  BranchIcon,
  CheckIcon,
  ChevronIcon,
  ClipIcon,
  ClockIcon,
  CompactIcon,
  CopyIcon,
  CrossIcon,
  DotsIcon,
  DownIcon,
  EditIcon,
  FileIcon,
  FolderIcon,
  GridIcon,
  HandoffIcon,
  HelpIcon,
  icon,
  LeftIcon,
  Logo,
  MenuIcon,
  MoonIcon,
  PinIcon,
  PlusIcon,
  RetryIcon,
  RingIcon,
  RoomyIcon,
  ScreenIcon,
  SelectIcon,
  SendIcon,
  SettingsIcon,
  ShareIcon,
  ShieldIcon,
  StopIcon,
  SunIcon,
  ThoughtIcon,
  TimelineIcon,
  TrashIcon,
} from './icons.tsx';
export { useShownRows } from './shown-rows.tsx';
export { Skeleton, type SkeletonProps } from './skeleton.tsx';
export { clockTime, dayOrTime, duration, monthOf, pageClock, TimeText, useNow } from './time.tsx';
export { useKey } from './use-key.ts';
