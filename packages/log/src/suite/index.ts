export { logCases } from './log-cases.ts';
export type { LogCase, LogStore, LogSubject } from './log-subject.ts';
export { checkModel, landmarks, type ModelStep } from './model/check-model.ts';
export { checkResume, type ResumeOptions } from './model/check-resume.ts';
export type { WorldOptions } from './model/model-world.ts';
export { scriptOf } from './model/script.ts';
export { ReferenceLog } from './reference/reference-log.ts';
export { ReferenceStore } from './reference/reference-store.ts';
export { TestClock } from './test-clock.ts';
