// Draws everything once, then updates it as the time changes.

startClock();
drawLegend();
drawRace();
drawPlan();
drawRows();
setTime(openingTime());
document.body.dataset.ready = "true";
