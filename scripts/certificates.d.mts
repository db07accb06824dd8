export function downloadEnvironment(): NodeJS.ProcessEnv
