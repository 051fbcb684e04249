// Draws everything once, then lets time move it.

startClock();
drawLegend();
drawRace();
drawPlan();
drawRows();
setTime(openingTime());
document.body.dataset.ready = "true";
